//! Commands of FSL that this program serves.

pub mod convert_xfm;
pub mod flirt;
pub mod mcflirt;
mod names;
