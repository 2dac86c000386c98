//! The mean gradient magnitude by intensity: what [`Backend::gradient_profile`](crate::Backend::gradient_profile)
//! computes in the same way on all devices.

use crate::PROFILE_BINS;

/// Gradient magnitudes are added up as integers, in units of 1 / `UNIT`, so that the order of addition does not matter.
pub const UNIT: f32 = (1 << 20) as f32;

/// The mean magnitudes of all bins, from the number of voxels of each bin and the sum of their magnitudes. `None` for a
/// bin without voxels.
pub fn means(bins: [[u64; 2]; PROFILE_BINS]) -> Vec<Option<f64>> {
    let mean = |[count, sum]: [u64; 2]| (count > 0).then(|| sum as f64 / f64::from(UNIT) / count as f64);
    bins.into_iter().map(mean).collect()
}
