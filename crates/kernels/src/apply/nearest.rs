//! The voxel whose centre is nearest.

use super::resample::Sample;

/// Half-way between two centres the upper one is taken, as in ITK. An index that misses half-way by this little is
/// there but for rounding: without it, resampling to a grid of half the spacing gives a ragged pattern.
const TIE: f64 = 1e-9;

/// Reads the nearest voxel; ITK's `NearestNeighborInterpolateImageFunction`.
pub struct Nearest<'a, T> {
    pub shape: [usize; 3],
    pub voxels: &'a [T],
}

impl<T: Copy + Send + Sync> Sample for Nearest<'_, T> {
    type Value = T;

    #[inline]
    fn at(&self, index: [f64; 3]) -> T {
        let [i, j, k]: [usize; 3] =
            std::array::from_fn(|axis| ((index[axis] + (0.5 + TIE)) as usize).min(self.shape[axis] - 1));
        self.voxels[(k * self.shape[1] + j) * self.shape[0] + i]
    }
}
