//! N4 bias correction: estimates the slowly varying factor by which a coil shades an image, and divides the image by
//! it.
//!
//! The method is that of Tustison et al. 2010 (IEEE TMI 29:1310), with the sharpening of Sled et al. 1998 (IEEE TMI
//! 17:87) and the B-spline approximation of Lee, Wolberg and Shin 1997 (IEEE TVCG 3:228). In logarithms of intensities,
//! the field is a term that is added. Two steps alternate: the histogram is sharpened, which estimates the intensities
//! without the field, and a smooth spline is fitted to the difference.

mod axis;
mod correction;
mod error;
mod estimate;
mod field;
mod lattice;
mod memory;
mod options;
mod samples;
mod sharpen;
mod shrink;
mod spline;

pub use correction::{correct, foreground, rescale_as};
pub use error::Error;
pub use estimate::estimate;
pub use field::{BiasField, LevelOutcome};
pub use memory::device_bytes;
pub use options::{Mesh, Options};
pub use shrink::Geometries;
