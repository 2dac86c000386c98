//! Commands of FSL that this program supports.

pub mod convert_xfm;
pub mod flirt;
pub mod mcflirt;
mod names;
mod stored;
pub mod warps;

pub use names::stem;
