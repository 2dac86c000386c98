//! What comes after a registration: images, labels and points through a chain of transforms, and how good a field is.
//!
//! Everything here runs once per volume on rayon's threads, in world coordinates and double precision where positions
//! are concerned, and gives the same bits whatever the number of threads.

mod bspline;
mod cell;
mod compose;
mod consistency;
mod gaussian_kernel;
mod gaussian_vote;
mod jacobian;
mod labels;
mod linear;
mod nearest;
mod path;
mod resample;
mod sinc;
mod spline_order;
mod tensors;
mod turns;

pub use compose::compose;
pub use consistency::inverse_consistency;
pub use jacobian::{jacobian, jacobian_of_fourth_order, smallest_at_corners};
pub use labels::{LabelInterpolation, resample_labels};
pub use path::apply_points;
pub use resample::{Interpolation, resample};
pub use sinc::Window;
pub(crate) use sinc::WindowedSinc;
#[cfg(feature = "cuda")]
pub(crate) use sinc::sinc_table;
pub use spline_order::SplineOrder;
pub use tensors::{exponential, logarithm, turn_tensors, turn_vectors};
pub use turns::Turns;

#[cfg(test)]
mod test_scenes;
