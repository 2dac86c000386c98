//! Geometry, volumes, transforms and file formats. This crate uses no GPU and prints nothing. Threads are used only for
//! writing files and for computations over a whole volume: quantiles, histogram, centre of mass.
//!
//! Everything inside is in one world: RAS millimetres, the world of NIfTI headers. The LPS world of ITK and the
//! scaled millimetres of FSL exist in [`io`] only.

pub mod affine;
pub mod affine_mean;
pub mod chain;
pub mod compare;
pub mod content;
pub mod displacement;
pub mod explain;
mod failpoint;
pub mod grid;
pub mod histogram_matching;
pub mod intensity;
pub mod io;
pub mod jacobian;
pub mod landmarks;
pub mod memory;
pub mod overlap;
pub mod report;
pub mod same_grid;
pub mod schedule;
pub mod unit;
pub mod volume;

pub use affine::AffineTransform;
pub use chain::{ChainError, ChainWarning, OutsideField, Step, Transform, TransformChain};
pub use compare::Comparison;
pub use displacement::{DisplacementField, FieldSampler};
pub use explain::{ExplainedStep, Explanation, Space};
pub use grid::{Grid, GridError};
pub use jacobian::{JacobianSummary, Roughness};
pub use overlap::Overlap;
pub use same_grid::GridMismatch;
pub use unit::Unit;
pub use volume::{LabelVolume, Volume};
