//! What comes after a registration: images, labels and points through a chain of transforms, and how good a field is.
//!
//! Everything here runs once per volume on rayon's threads, in world coordinates and double precision where positions
//! are concerned, and gives the same bits whatever the number of threads.

mod bspline;
mod cell;
mod consistency;
mod gaussian_kernel;
mod jacobian;
mod labels;
mod linear;
mod nearest;
mod path;
mod resample;
mod sinc;

pub use consistency::inverse_consistency;
pub use jacobian::{jacobian, smallest_at_corners};
pub use labels::{LabelInterpolation, resample_labels};
pub use path::apply_points;
pub use resample::{Interpolation, resample};
pub use sinc::Window;
pub(crate) use sinc::WindowedSinc;
#[cfg(feature = "cuda")]
pub(crate) use sinc::sinc_table;

#[cfg(test)]
mod test_scenes;
