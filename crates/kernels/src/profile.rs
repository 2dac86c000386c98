//! The mean gradient magnitude by intensity: what [`Intensity::gradient_profile`](crate::ops::Intensity::gradient_profile)
//! computes in the same way on all devices.

/// Number of bins of intensity of [`Intensity::gradient_profile`](crate::ops::Intensity::gradient_profile).
pub const PROFILE_BINS: usize = 128;

/// The voxels of an image whose intensities lie in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProfileBin {
    /// Number of voxels.
    pub voxels: u64,
    /// Mean gradient magnitude of the voxels; 0 without voxels.
    pub gradient: f64,
}

/// Gradient magnitudes are added up as integers, in units of 1 / `UNIT`, so that the order of addition does not matter.
pub const UNIT: f32 = (1 << 20) as f32;

/// The bins of a profile, from the number of voxels of each bin and the sum of their magnitudes.
pub fn bins(sums: [[u64; 2]; PROFILE_BINS]) -> Vec<ProfileBin> {
    let bin = |[voxels, sum]: [u64; 2]| ProfileBin {
        voxels,
        gradient: sum as f64 / f64::from(UNIT) / voxels.max(1) as f64,
    };
    sums.into_iter().map(bin).collect()
}
