//! The images of joint label fusion, with the ranges of their intensities.

use rayon::prelude::*;

/// The voxels of an image, with the offset and factor that map its intensities to the range 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Scaled<'a> {
    pub(crate) voxels: &'a [f32],
    pub(crate) low: f32,
    pub(crate) scale: f32,
}

impl<'a> Scaled<'a> {
    /// Sets offset and factor so that the darkest voxel becomes 0 and the brightest 1. A constant image becomes 0
    /// everywhere. Values that are NaN or infinite do not count here, and are 0 after scaling.
    pub fn new(voxels: &'a [f32]) -> Scaled<'a> {
        const NONE: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);
        let wider =
            |(low, high): (f32, f32), (other_low, other_high): (f32, f32)| (low.min(other_low), high.max(other_high));
        let of_part = |part: &[f32]| {
            let finite = part.iter().copied().filter(|value| value.is_finite());
            finite.fold(NONE, |range, value| wider(range, (value, value)))
        };
        let (low, high) = voxels.par_chunks(1 << 16).map(of_part).reduce(|| NONE, wider);
        let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
        Scaled { voxels, low: if low.is_finite() { low } else { 0.0 }, scale }
    }

    /// The scaled intensity of a voxel; 0 if it is not finite.
    #[inline(always)]
    pub(crate) fn value(&self, voxel: usize) -> f32 {
        let value = (self.voxels[voxel] - self.low) * self.scale;
        if value.is_finite() { value } else { 0.0 }
    }
}

/// A target image, and the images of atlases on the target's grid.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Number of voxels along each axis.
    pub shape: [usize; 3],
    /// The target image.
    pub target: Scaled<'a>,
    /// The images of the atlases.
    pub atlases: &'a [Scaled<'a>],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intensities_are_scaled_to_the_range_of_the_finite_values() {
        let of = |voxels: &[f32]| -> Vec<f32> {
            let scaled = Scaled::new(voxels);
            (0..voxels.len()).map(|voxel| scaled.value(voxel)).collect()
        };
        assert_eq!(of(&[100.0, 164.0, 132.0, f32::NAN, f32::INFINITY, 116.0]), [0.0, 1.0, 0.5, 0.0, 0.0, 0.25]);
        assert_eq!(of(&[-3.0, 1.0, -2.0]), [0.0, 1.0, 0.25]);
        assert_eq!(of(&[7.0, 7.0]), [0.0; 2]);
        assert_eq!(of(&[f32::NAN, f32::NEG_INFINITY]), [0.0; 2]);
    }
}
