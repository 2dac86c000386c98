//! Tissue classification: finds the white matter of a T1-weighted image of a brain.
//!
//! The shading is removed by N4 ([`bias`](crate::bias)), and a mixture of three Gaussians is fitted to the histogram of
//! the intensities in the brain. White matter is brighter than the middle between the means of the two brightest classes.

mod error;
mod histogram;
mod mixture;
mod white;

pub use error::Error;
pub use histogram::Histogram;
pub use mixture::{Class, Mixture};
pub use white::{WhiteMatter, white_matter};
