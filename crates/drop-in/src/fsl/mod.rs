//! Commands of FSL.

pub mod convert_xfm;
pub mod flirt;
mod names;
