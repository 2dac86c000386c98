//! Operations after a registration: transforms applied to images, labels and points, and scores of warps.
//!
//! Each operation runs once for a volume, on rayon's threads, in world coordinates. Positions are in double precision.
//! Results have the same bits for any number of threads.

mod bspline;
mod cell;
mod compose;
mod consistency;
mod gaussian_kernel;
mod gaussian_vote;
mod invert;
mod jacobian;
mod labels;
mod linear;
mod nearest;
mod path;
mod resample;
mod sample;
mod sinc;
mod spline_order;
mod tensors;
mod turns;

pub use bspline::BSpline;
pub use compose::compose;
pub use consistency::inverse_consistency;
pub use invert::invert;
pub use jacobian::{jacobian, jacobian_of_fourth_order, smallest_at_corners};
pub use labels::{LabelInterpolation, resample_labels};
pub use path::{apply_points, move_points};
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
