//! Commands of FSL.

pub mod convert_xfm;
pub mod flirt;
pub mod mcflirt;
mod names;
