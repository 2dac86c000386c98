//! An unbiased template, as ANTs' multivariate template construction makes it: the average of subjects brought to the
//! present template, moved to the mean of their shapes.

mod brightness;
mod coverage;
mod foreground;
mod likeness;
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
pub use coverage::Coverage;
pub use foreground::{brighter, foreground, grid_around};
pub use likeness::likeness;
pub use means::{Averaging, ImageMean, WarpMean};
pub use movement::Movement;
pub use shape::{ShapeError, ShapeStep, from_new_template, shape_update};
pub use sharpen::sharpen;
pub use sharpness::sharpness;
pub use split::{nearest_affine, sparse, warp_before};
pub use stretch::{StretchError, mean_stretch};
pub use votes::Votes;
