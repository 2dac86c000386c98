//! Linear registration by correlation ratio: FLIRT's multi-start, multi-resolution search.
//!
//! [`register`] finds the affine map from the fixed to the moving world that makes the fixed image predict the moving one
//! best. The search is made of state machines that ask for costs, so that every round of all its starts is one batch for
//! the device.

mod compare;
mod coordinate_search;
mod error;
mod images;
mod level;
mod line_search;
mod options;
mod orient;
mod parameters;
mod polish;
mod pose;
mod progress;
mod search;

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Backend;

pub use error::{Error, Side};
pub use options::{AngleSearch, Dof, Options, Outcome, Search, Start};

use images::Images;
use parameters::Frame;
use progress::Progress;

/// Aligns `moving` to `fixed`. Voxels count as much as their weights, if given, say (≥ 0, on the image's grid): 0 and 1
/// make a mask.
pub fn register<B: Backend>(
    backend: &B,
    fixed: &Volume,
    moving: &Volume,
    fixed_weight: Option<&Volume>,
    moving_weight: Option<&Volume>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    options.check()?;
    let images = Images::new(backend, [fixed, moving], [fixed_weight, moving_weight], options)?;
    let coarsest = search::levels(images.voxel_mm(), options.finest_mm)[0];
    let poses = images.poses(coarsest)?;
    let start = match options.start {
        Start::Headers => AffineTransform::identity(),
        Start::Transform(transform) => transform,
        Start::CentreOfMass => {
            AffineTransform { translation: poses[1].centre - poses[0].centre, ..AffineTransform::identity() }
        }
    };
    let frame = Frame::new(&start, images.moving_axes(), poses[1].centre)?;
    search::run(&images, &frame, &poses, options, &mut Progress::new(observer))
}
