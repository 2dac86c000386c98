//! Linear registration: FLIRT's multi-start, multi-resolution search, by correlation ratio or another [`Cost`].
//!
//! [`register`] finds the affine map from the fixed to the moving world that makes the fixed image predict the moving one
//! best. The search is made of state machines that ask for costs, so that every round of all its starts is one batch for
//! the device. [`Fixed`] is the fixed side alone, for many images that are brought to one.

mod compare;
mod coordinate_search;
mod cost;
mod creases;
mod descent;
mod error;
mod fixed;
mod images;
mod level;
mod line_search;
mod lockstep;
mod optimise;
mod options;
mod orient;
mod parameters;
mod polish;
mod pose;
mod powell;
mod progress;
mod search;

use antsreg_core::Volume;
use antsreg_core::report::Observer;
use antsreg_kernels::Backend;

pub use cost::Cost;
pub use error::{Error, Side};
pub use fixed::Fixed;
pub use options::{AngleSearch, Dof, Optimiser, Options, Outcome, Search, Start};

/// Aligns `moving` to `fixed` by the search of Jenkinson & Smith (2001) and Jenkinson et al. (2002), as changed where
/// `search.rs` says. The result maps fixed to moving points, RAS mm.
///
/// Each image lies on a grid of its own, both volumes or both slices. Voxels count as much as their weights, if given,
/// say (≥ 0, on the image's grid): 0 and 1 make a mask. The observer hears of every finished step of the search.
///
/// # Errors
/// Images that are constant, not finite, too small, or a slice beside a volume; weights on another grid or without any
/// voxel; options out of range; images that do not overlap wherever the search looked; a device that fails.
pub fn register<B: Backend>(
    backend: &B,
    fixed: &Volume,
    moving: &Volume,
    fixed_weight: Option<&Volume>,
    moving_weight: Option<&Volume>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    Fixed::new(backend, fixed, fixed_weight, options)?.register(
        backend,
        moving,
        moving_weight,
        options.start,
        observer,
    )
}
