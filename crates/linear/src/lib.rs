//! Linear registration: FLIRT's multi-start, multi-resolution search, by correlation ratio or another [`Cost`].
//!
//! [`register`] finds the transform from the fixed to the moving world with the lowest cost. The model is a
//! translation, a rigid or similarity transform, or an affine map. The local optimisers are state machines that ask for
//! costs. So the device evaluates the costs for all starts in one batch. [`Fixed`] is a prepared fixed image, for many
//! registrations to one image.

mod boundary;
mod coarse;
mod compare;
mod coordinate_search;
mod cost;
mod descent;
mod error;
mod fixed;
mod grids;
mod images;
mod lattice;
mod level;
mod line_search;
mod lockstep;
pub mod memory;
mod optimise;
mod options;
mod orient;
mod outcome;
mod overlap;
mod parameters;
mod polish;
mod pose;
mod powell;
mod progress;
mod roles;
mod search;
mod start;
mod translate;

use antsreg_core::Volume;
use antsreg_core::report::Observer;
use antsreg_kernels::Backend;

pub use boundary::{Boundary, BoundaryKind, BoundaryOutcome};
pub use cost::Cost;
pub use error::{Error, Side};
pub use fixed::Fixed;
pub use options::{AngleSearch, Dof, Optimiser, Options, Search};
pub use outcome::Outcome;
pub use start::Start;

/// Aligns `moving` to `fixed` by the search of Jenkinson & Smith (2001) and Jenkinson et al. (2002), with the changes
/// that `search.rs` lists. The result maps fixed to moving points, RAS mm.
///
/// Each image has its own grid; both are volumes or both are slices. The weights, if given, are at least 0 and on the
/// grid of their image; weights of 0 and 1 make a mask. The search begins at `start`. The observer receives a report
/// after every step of the search, and is polled after every batch of cost evaluations; the result does not depend on
/// it.
///
/// # Errors Images that are constant, not finite, too small, or a slice beside a volume; weights on another grid or
/// without any voxel; options out of range; a singular start; images that do not overlap for any transform that the
/// search evaluated; an observer that stops the registration ([`Error::Stopped`]); a device that fails.
#[expect(
    clippy::too_many_arguments,
    reason = "a registration needs the backend, two images, two weights, options, a start and an observer"
)]
pub fn register<B: Backend>(
    backend: &B,
    fixed: &Volume,
    moving: &Volume,
    fixed_weight: Option<&Volume>,
    moving_weight: Option<&Volume>,
    options: &Options,
    start: Start,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    Fixed::new(backend, fixed, fixed_weight, options)?.register(backend, moving, moving_weight, start, observer)
}
