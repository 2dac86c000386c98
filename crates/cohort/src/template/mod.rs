//! An unbiased template, as ANTs' multivariate template construction makes it: the average of subjects brought to the
//! present template, moved to the mean of their shapes.

mod foreground;
mod means;
mod movement;
mod shape;
mod sharpen;
mod sharpness;
mod stretch;
mod votes;

pub use foreground::{foreground, grid_around};
pub use means::{ImageMean, WarpMean, mean_intensity};
pub use movement::Movement;
pub use shape::{CarryError, ShapeStep, from_new_template, in_millimetres, in_voxels, shape_update};
pub use sharpen::sharpen;
pub use sharpness::sharpness;
pub use stretch::{StretchError, mean_stretch};
pub use votes::Votes;
