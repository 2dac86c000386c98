//! Unbiased templates, as in ANTs' multivariate template construction: the average of subjects resampled on the
//! current template, moved to the mean of their shapes.

mod brightness;
mod correlation;
mod coverage;
mod foreground;
mod means;
mod movement;
mod shape;
mod sharpen;
mod sharpness;
mod split;
mod stretch;
mod sums;
mod votes;

pub use brightness::{Brightness, foreground_in, foreground_on};
pub use correlation::correlation;
pub use coverage::Coverage;
pub use foreground::{brighter, grid_around};
pub use means::{ImageMean, WarpMean};
pub use movement::Movement;
pub use shape::{ShapeError, ShapeStep, from_new_template, shape_update};
pub use sharpen::sharpen;
pub use sharpness::sharpness;
pub use split::{nearest_affine, sparse, warp_before};
pub use stretch::{StretchError, mean_stretch};
pub use sums::Averaging;
pub use votes::Votes;
