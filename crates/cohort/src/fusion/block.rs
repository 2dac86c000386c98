//! A block of target voxels, with the image values and patch statistics that it needs. A block is small enough for the
//! cache of one processor core.

use antsreg_core::Volume;

/// Number of voxels along each axis of a block of target voxels, which one task processes together.
pub(super) const BLOCK: [usize; 3] = [16, 8, 8];

/// A patch is flat if its standard deviation is below this share of the image's intensity range. A flat patch is
/// background or noise and carries no information.
const FLAT: f64 = 1e-3;

/// An image with the offset and factor that map its intensities to the range 0 to 1.
pub(super) struct Scaled<'a> {
    pub(super) image: &'a Volume,
    low: f32,
    scale: f32,
}

impl<'a> Scaled<'a> {
    /// Sets offset and factor so that the darkest voxel becomes 0 and the brightest 1. A constant image becomes 0
    /// everywhere.
    pub(super) fn new(image: &'a Volume) -> Scaled<'a> {
        let finite = || image.voxels.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
        let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
        Scaled { image, low: if low.is_finite() { low } else { 0.0 }, scale }
    }
}

/// The intensities of an image inside a box of voxels. Where the box extends beyond the image, the values at the border
/// of the image are repeated.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Number of voxels of this box of the image along each axis.
    pub(super) shape: [usize; 3],
    /// Intensities minus their mean over the box. Products of such values lose few digits to rounding.
    pub(super) values: Vec<f32>,
}

/// Mean and inverse standard deviation of every patch (a small cube of voxels) inside a box of an image.
#[derive(Debug, Default)]
pub(super) struct Patches {
    /// Number of patches along each axis of the box.
    pub(super) shape: [usize; 3],
    /// Mean intensity of each patch.
    pub(super) mean: Vec<f32>,
    /// Inverse of the standard deviation of each patch; 0 for a flat patch.
    pub(super) inverse_sd: Vec<f32>,
    sums: [Vec<f64>; 2],
    passed: Vec<f64>,
}

impl Region {
    /// Reads the intensities of an image in the box of `shape` voxels whose first voxel is `start` − `margin` along
    /// each axis.
    pub(super) fn read(&mut self, from: &Scaled, start: [usize; 3], margin: usize, shape: [usize; 3]) {
        let whole = from.image.grid.shape;
        self.shape = shape;
        self.values.clear();
        let place = |axis: usize, at: usize| (start[axis] + at).saturating_sub(margin).min(whole[axis] - 1);
        for z in 0..shape[2] {
            for y in 0..shape[1] {
                let row = (place(2, z) * whole[1] + place(1, y)) * whole[0];
                self.values.extend((0..shape[0]).map(|x| {
                    let value = (from.image.voxels[row + place(0, x)] - from.low) * from.scale;
                    if value.is_finite() { value } else { 0.0 }
                }));
            }
        }
        let sum: f64 = self.values.iter().copied().map(f64::from).sum();
        let mean = (sum / self.values.len() as f64) as f32;
        self.values.iter_mut().for_each(|value| *value -= mean);
    }
}

impl Patches {
    /// Computes the mean and the inverse standard deviation of all patches in a region. A patch has `width` voxels
    /// along each axis.
    pub(super) fn measure(&mut self, region: &Region, width: usize) {
        self.shape = region.shape.map(|extent| extent + 1 - width);
        for (sums, power) in self.sums.iter_mut().zip([1, 2]) {
            sums.clear();
            sums.extend(region.values.iter().map(|value| f64::from(*value).powi(power)));
            let mut shape = region.shape;
            for axis in 0..3 {
                let stride: usize = shape[..axis].iter().product();
                let block = stride * shape[axis];
                shape[axis] = shape[axis] + 1 - width;
                self.passed.clear();
                for piece in sums.chunks_exact(block) {
                    let count = stride * shape[axis];
                    self.passed
                        .extend((0..count).map(|at| (0..width).map(|step| piece[at + step * stride]).sum::<f64>()));
                }
                std::mem::swap(sums, &mut self.passed);
            }
        }
        let voxels = (width * width * width) as f64;
        self.mean.clear();
        self.inverse_sd.clear();
        for (sum, squares) in self.sums[0].iter().zip(&self.sums[1]) {
            let mean = sum / voxels;
            let sd = (squares / voxels - mean * mean).max(0.0).sqrt();
            self.mean.push(mean as f32);
            self.inverse_sd.push(if sd < FLAT { 0.0 } else { (1.0 / sd) as f32 });
        }
    }
}
