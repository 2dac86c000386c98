//! The correlation ratio of a batch of transforms: fixed voxels in bins, moving values accumulated for each bin.
//!
//! The work is divided into pieces (slab of slices × transform) whose size depends on the volume only, and the pieces
//! are added in order. So the result does not depend on the number of threads.

pub(super) mod backdrop;
pub(super) mod cells;
mod piece;
pub(super) mod rows;
pub(super) mod slices;

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use super::image::Image;
use crate::Error;
use piece::{Moments, Piece};
use slices::Slices;

/// Approximate number of samples of a task: large enough to hide the cost of starting it, small enough to keep all
/// threads busy.
const SLAB_SAMPLES: usize = 1 << 15;

/// A histogram bin of the fixed image with at most this total weight of samples does not count in the correlation
/// ratio, because the variance of so few samples has no meaning.
const LEAST_COUNT: f64 = 2.0;

/// Fixed voxels with their bins, the result of [`Backend::bin_fixed`](crate::Backend::bin_fixed).
#[derive(Debug, Clone)]
pub struct FixedBins {
    pub(super) shape: [usize; 3],
    /// Number of bins of the fixed image.
    pub(super) bins: usize,
    /// The bin of each fixed voxel.
    pub(super) bin: Vec<u16>,
    /// The weight of each fixed voxel; `None` if all are 1.
    pub(super) weight: Option<Vec<f32>>,
    /// The part of each row of fixed voxels with positive weight, `start..end`; `None` for whole rows.
    pub(super) extents: Option<Vec<[u32; 2]>>,
}

/// Assigns a bin to each fixed voxel, as defined by [`Backend::bin_fixed`](crate::Backend::bin_fixed).
pub(super) fn bin_fixed(
    fixed: &Image,
    weight: Option<&Image>,
    low_high: (f32, f32),
    bins: usize,
) -> Result<FixedBins, Error> {
    Error::check_shapes("bin_fixed", fixed.shape, weight.map(|weight| weight.shape))?;
    let bins = bins.clamp(1, 1 << 16);
    let (low, high) = low_high;
    let scale = if high > low { bins as f32 / (high - low) } else { 0.0 };
    // The conversion of a float to an unsigned integer replaces negative values and NaN by 0. So the bin needs clamping
    // only at the upper end.
    let bin = fixed.voxels.par_iter().map(|value| (((value - low) * scale) as usize).min(bins - 1) as u16).collect();
    let extents = weight.map(|weight| weight.voxels.chunks_exact(fixed.shape[0]).map(extent).collect());
    Ok(FixedBins { shape: fixed.shape, bins, bin, weight: weight.map(|weight| weight.voxels.to_vec()), extents })
}

/// The part of a row of voxels that contains all positive weights: index of the first voxel with a positive weight, and
/// one past the index of the last.
pub(super) fn extent(row: &[f32]) -> [u32; 2] {
    let start = row.iter().position(|weight| *weight > 0.0);
    let last = row.iter().rposition(|weight| *weight > 0.0);
    match (start, last) {
        (Some(start), Some(last)) => [start as u32, last as u32 + 1],
        _ => [0, 0],
    }
}

/// Number of slices of a slab, the part of a fixed volume that one task samples.
pub(super) fn slab_slices([nx, ny, _]: [usize; 3]) -> usize {
    SLAB_SAMPLES.div_ceil((nx * ny).max(1))
}

/// Computes the correlation ratio cost of each transform, as defined by
/// [`Backend::correlation_ratio`](crate::Backend::correlation_ratio).
pub(super) fn costs(
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<f64>, Error> {
    Error::check_shapes("correlation_ratio", moving.shape, moving_weight.map(|weight| weight.shape))?;
    let slices = Slices::of(fixed.shape, moving, moving_weight, edge_voxels, fixed_to_moving);
    if let Some(Slices { moving, weight, maps }) = &slices {
        return costs(fixed, moving, weight.as_ref(), edge_voxels, maps);
    }
    let slab_slices = slab_slices(fixed.shape);
    let slabs = fixed.shape[2].div_ceil(slab_slices);
    let count = fixed_to_moving.len();
    let backdrop = moving.backdrop();
    // The tasks (slab of slices × transform) are ordered by slab. So tasks that run at the same time read the same slab
    // and about the same part of the moving image, which are then in the cache.
    let pieces: Vec<Vec<Moments>> = (0..slabs * count)
        .into_par_iter()
        .map_init(
            || Piece::new(fixed, moving, moving_weight, edge_voxels, &backdrop),
            |piece, task| {
                let (slab, transform) = (task / count, task % count);
                let slices = slab * slab_slices..((slab + 1) * slab_slices).min(fixed.shape[2]);
                piece.moments(slices, &fixed_to_moving[transform])
            },
        )
        .collect();
    let pieces_of = |transform| (0..slabs).map(move |slab| slab * count + transform);
    let cost_of = |transform| cost(fixed.bins, pieces_of(transform).map(|task| &pieces[task]));
    Ok((0..count).into_par_iter().map(cost_of).collect())
}

/// The cost Σ_b n_b·var_b / (n·var) of a transform from the moments of all bins b.
fn cost<'a>(bins: usize, pieces: impl Iterator<Item = &'a Vec<Moments>>) -> f64 {
    let mut sums = vec![Moments::default(); bins];
    for piece in pieces {
        for (sum, part) in sums.iter_mut().zip(piece) {
            for moment in 0..3 {
                sum[moment] += part[moment];
            }
        }
    }
    let (mut within, mut all) = (0.0, Moments::default());
    for sum in sums.iter().filter(|sum| sum[0] > LEAST_COUNT) {
        within += deviation(sum);
        for moment in 0..3 {
            all[moment] += sum[moment];
        }
    }
    let total = deviation(&all);
    // Because of rounding, the computed variance of a constant image is not exactly 0. A variance that is so small
    // relative to the mean square counts as 0, which gives the cost 1.
    if total > 1e-9 * all[2] { (within / total).clamp(0.0, 1.0) } else { 1.0 }
}

/// The sum Σw(y − ȳ)², which is Σw times the variance of y, from Σw, Σwy and Σwy². Without samples the quotient is NaN,
/// which `max` replaces by 0.
fn deviation([n, y, yy]: &Moments) -> f64 {
    (yy - y * y / n).max(0.0)
}

#[cfg(test)]
mod tests;
