//! A block of an image with a margin: the intensities, and mean and standard deviation of all patches.

use crate::fusion::{FLAT, Scaled, with_margin};

/// The intensities of an image in a block of voxels and a margin around the block, with the mean and the inverse
/// standard deviation of every patch inside. Where the box extends beyond the image, the values at the border of the
/// image are repeated.
#[derive(Debug, Default)]
pub(super) struct BoxOfImage {
    /// Number of voxels along each axis.
    pub(super) shape: [usize; 3],
    /// Scaled intensities minus their mean over the box. Products of such values lose few digits to rounding.
    pub(super) values: Vec<f32>,
    /// Number of patches along each axis.
    pub(super) patches: [usize; 3],
    /// Mean intensity of each patch.
    pub(super) mean: Vec<f32>,
    /// Inverse of the standard deviation of each patch; 0 for a flat patch.
    pub(super) inverse_sd: Vec<f32>,
    sums: [Vec<f64>; 2],
    passed: Vec<f64>,
}

impl BoxOfImage {
    /// Reads the box of an image of shape `whole`: the block that starts at `start`, with a margin of `margin` voxels on
    /// each side. Patches have `width` voxels along each axis.
    #[inline(always)]
    pub(super) fn read(&mut self, image: &Scaled, whole: [usize; 3], start: [usize; 3], margin: usize, width: usize) {
        self.shape = with_margin(margin);
        self.values.clear();
        let place = |axis: usize, at: usize| (start[axis] + at).saturating_sub(margin).min(whole[axis] - 1);
        for z in 0..self.shape[2] {
            for y in 0..self.shape[1] {
                let row = (place(2, z) * whole[1] + place(1, y)) * whole[0];
                self.values.extend((0..self.shape[0]).map(|x| image.value(row + place(0, x))));
            }
        }
        let sum: f64 = self.values.iter().copied().map(f64::from).sum();
        let mean = (sum / self.values.len() as f64) as f32;
        self.values.iter_mut().for_each(|value| *value -= mean);
        self.measure(width);
    }

    /// Computes the mean and the inverse standard deviation of all patches.
    #[inline(always)]
    fn measure(&mut self, width: usize) {
        self.patches = self.shape.map(|extent| extent + 1 - width);
        let [sums, squares] = &mut self.sums;
        sums.clear();
        sums.extend(self.values.iter().map(|value| f64::from(*value)));
        squares.clear();
        squares.extend(sums.iter().map(|value| value * value));
        for sums in [sums, squares] {
            let mut shape = self.shape;
            for axis in 0..3 {
                let stride: usize = shape[..axis].iter().product();
                let block = stride * shape[axis];
                shape[axis] = shape[axis] + 1 - width;
                add_neighbours(sums, &mut self.passed, block, stride * shape[axis], stride, width);
                std::mem::swap(sums, &mut self.passed);
            }
        }
        let voxels = (width * width * width) as f64;
        self.mean.clear();
        self.inverse_sd.clear();
        self.mean.extend(self.sums[0].iter().map(|sum| (sum / voxels) as f32));
        self.inverse_sd.extend(self.sums[0].iter().zip(&self.sums[1]).map(|(sum, squares)| {
            let mean = sum / voxels;
            let sd = (squares / voxels - mean * mean).max(0.0).sqrt();
            if sd < FLAT { 0.0 } else { (1.0 / sd) as f32 }
        }));
    }
}

/// Sums of `width` neighbours along one axis. Neighbours are `stride` values apart. Each piece of `block` values gives
/// `count` sums.
#[inline(always)]
fn add_neighbours(from: &[f64], to: &mut Vec<f64>, block: usize, count: usize, stride: usize, width: usize) {
    to.clear();
    for piece in from.chunks_exact(block) {
        let start = to.len();
        to.extend_from_slice(&piece[..count]);
        let sums = &mut to[start..];
        for step in 1..width {
            sums.iter_mut().zip(&piece[step * stride..][..count]).for_each(|(sum, value)| *sum += value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_repeats_the_border_and_has_the_mean_zero() {
        let whole = [18, 9, 8];
        let voxels: Vec<f32> = (0..whole.iter().product::<usize>()).map(|n| (n * n % 101) as f32 + 300.0).collect();
        let mut read = BoxOfImage::default();
        // The box begins one voxel before the block at (16, 8, 0), and extends beyond the image along each axis.
        read.read(&Scaled::new(&voxels), whole, [16, 8, 0], 1, 3);
        assert_eq!(read.shape, [18, 10, 10]);
        let place = |at: usize, start: usize, n: usize| (start + at).saturating_sub(1).min(n - 1);
        let of = |n: usize| {
            let (x, y, z) = (place(n % 18, 16, 18), place(n / 18 % 10, 8, 9), place(n / 180, 0, 8));
            // The darkest voxel has 300, the brightest 400 (10² modulo 101 is 100).
            (f64::from(voxels[x + 18 * (y + 9 * z)]) - 300.0) / 100.0
        };
        let expected: Vec<f64> = (0..1800).map(of).collect();
        let mean = expected.iter().sum::<f64>() / 1800.0;
        assert!(mean > 0.2, "{mean}");
        assert_eq!(read.values.len(), expected.len());
        for (found, expected) in read.values.iter().zip(&expected) {
            assert!((f64::from(*found) - (expected - mean)).abs() < 1e-6, "{found} for {}", expected - mean);
        }
    }
}
