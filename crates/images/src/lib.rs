//! Operations on single images on the CPU: arithmetic, morphology, smoothing, distances, thresholds, grids, denoising
//! and segmentation.
//!
//! The formulas are those of ANTs' commands and of the ITK filters behind them, so that pipelines get the same voxels.
//! Each operation treats an image of one slice as an image of two dimensions: no operation acts across the slice.
//! Results have the same bits for any number of threads.

pub mod arithmetic;
pub mod atropos;
pub mod denoise;
pub mod distance;
mod error;
pub mod filters;
pub mod grids;
pub mod histogram;
pub mod intensity;
pub mod labels;
pub mod morphology;
pub mod propagate;
pub mod recursive_gaussian;
pub mod regions;
pub mod shapes;
pub mod tensors;
pub mod threshold;

pub use error::Error;

use antsreg_core::Grid;

/// Number of dimensions of an image on this grid: 2 for a slice, else 3.
pub fn dimensions(grid: &Grid) -> usize {
    if grid.is_slice() { 2 } else { 3 }
}

/// Whether a number counts as zero in ANTs: ITK's `FloatAlmostEqual` with its default tolerance.
pub fn is_zero(value: f32) -> bool {
    value.abs() <= 0.1 * f32::EPSILON
}
