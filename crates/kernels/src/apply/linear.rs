//! Trilinear interpolation.

use super::{cell::Cell, sample::Sample};

/// Trilinear interpolation of an image; ITK's `LinearInterpolateImageFunction`.
pub struct Linear<'a> {
    pub shape: [usize; 3],
    pub voxels: &'a [f32],
}

impl Sample for Linear<'_> {
    type Value = f32;

    #[inline]
    fn at(&self, index: [f64; 3]) -> f32 {
        let cell = Cell::around(self.shape, index);
        let value = cell.corners().map(|corner| self.voxels[corner]);
        let [x, y, z] = cell.fraction.map(|fraction| fraction as f32);
        // At the centre of a voxel this form of linear interpolation gives exactly the value of the voxel. So
        // resampling a volume on its own grid does not change the volume.
        let mix = |near: f32, far: f32, share: f32| near * (1.0 - share) + far * share;
        let low = mix(mix(value[0], value[1], x), mix(value[2], value[3], x), y);
        let high = mix(mix(value[4], value[5], x), mix(value[6], value[7], x), y);
        mix(low, high, z)
    }
}
