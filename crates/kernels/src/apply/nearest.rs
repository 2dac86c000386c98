//! Nearest-neighbour interpolation of images.

use super::sample::Sample;

/// Tolerance, in voxels: an index that is below the middle between two voxel centres by less than this tolerance counts
/// as the middle. In the middle, the voxel with the higher index is taken, as in ITK. Without this tolerance,
/// resampling to half the spacing gives an irregular pattern.
const TIE: f64 = 1e-9;

/// Nearest-neighbour interpolation of an image; ITK's `NearestNeighborInterpolateImageFunction`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tolerance_does_not_lead_beyond_the_last_voxel() {
        let shape = [2, 3, 4];
        let voxels: Vec<usize> = (0..24).collect();
        for axis in 0..3 {
            let mut index = [1.0; 3];
            // This index is within the tolerance of the middle between the last voxel and the one that would follow.
            index[axis] = shape[axis] as f64 - 0.5 - 1e-10;
            let mut expected = [1; 3];
            expected[axis] = shape[axis] - 1;
            let found = Nearest { shape, voxels: &voxels }.at(index);
            assert_eq!([found % 2, found / 2 % 3, found / 6], expected, "axis {axis}");
        }
    }
}
