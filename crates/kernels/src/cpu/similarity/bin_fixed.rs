//! The bins of fixed voxels.

use rayon::prelude::*;

use crate::Error;
use crate::cpu::image::Image;

/// Fixed voxels with their bins, the result of [`Similarity::bin_fixed`](crate::ops::Similarity::bin_fixed).
#[derive(Debug, Clone)]
pub struct FixedBins {
    pub(in crate::cpu) shape: [usize; 3],
    /// Number of bins of the fixed image.
    pub(in crate::cpu) bins: usize,
    /// The bin of each fixed voxel.
    pub(in crate::cpu) bin: Vec<u16>,
    /// The weight of each fixed voxel; `None` if all are 1.
    pub(in crate::cpu) weight: Option<Vec<f32>>,
    /// The part of each row of fixed voxels with positive weight, `start..end`; `None` for whole rows.
    pub(in crate::cpu) extents: Option<Vec<[u32; 2]>>,
}

/// Assigns a bin to each fixed voxel, as defined by [`Similarity::bin_fixed`](crate::ops::Similarity::bin_fixed).
pub(in crate::cpu) fn bin_fixed(
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
pub(in crate::cpu) fn extent(row: &[f32]) -> [u32; 2] {
    let start = row.iter().position(|weight| *weight > 0.0);
    let last = row.iter().rposition(|weight| *weight > 0.0);
    match (start, last) {
        (Some(start), Some(last)) => [start as u32, last as u32 + 1],
        _ => [0, 0],
    }
}
