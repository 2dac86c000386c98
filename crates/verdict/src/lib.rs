//! Says whether a registration is right. [`Pair`] is the registered pair on a coarse grid, [`Measures`] are numbers that
//! tell good results from failures, and [`Verdict`] is what a model makes of them. The model's coefficients, and the
//! made cases that they were fitted on, are data: `model.json`, `cases.csv.gz`.
//!
//! The measures are computed on the host from some 100,000 voxels. No device is needed.

mod histogram;
mod judge;
mod local;
mod measures;
mod model;
mod pair;
mod restarts;
mod turn;

pub use judge::{Judgement, Verdict};
pub use measures::{Affine, Measures};
pub use model::Model;
pub use pair::{Pair, Seen, coarse_grid};
