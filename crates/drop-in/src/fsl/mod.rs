//! Commands of FSL that this program supports.

pub mod convert_xfm;
pub mod flirt;
pub mod mcflirt;
mod names;

pub use names::stem;
