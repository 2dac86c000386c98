//! Quantiles, clipping, rescaling and curves of an image's intensities.

use antsreg_core::intensity::{HALVES, Quantiles, quantiles_by};

use super::Cuda;
use super::buffer::Buffer;
use super::image::Image;
use super::launch::{Launch, arguments};
use crate::Error;

/// Number of threads of a block in the kernels that process image intensities.
const THREADS: u32 = 256;

impl Cuda {
    pub(super) fn quantiles_of(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        quantiles_by(|upper| self.count_keys(image, upper), low, high)
    }

    /// Sort keys of 32 bits have the order of the voxel values. Counts the finite voxels by the upper 16 bits of their
    /// keys, or by the lower 16 bits if `upper` gives the upper bits.
    fn count_keys(&self, image: &Image, upper: Option<u16>) -> Result<Vec<u32>, Error> {
        let table = Buffer::<u32>::zeroed(&self.device, HALVES)?;
        let blocks = self.blocks_for(image.len(), THREADS);
        let launch = Launch::of_blocks(&self.kernels.intensity.count_keys, blocks, THREADS, 4 * image.len() as u64);
        let (source, count, upper) = (image.read(), image.len() as u32, upper.map_or(-1, i32::from));
        let target = table.pointer();
        // SAFETY: threads read only voxels of the image. An entry of the table is selected by half a sort key, which
        // has 16 bits, so the index is always valid.
        unsafe { self.launch(launch, arguments![source, count, upper, target])? };
        table.download(HALVES)
    }

    pub(super) fn clip_image(
        &self,
        image: &mut Image,
        (low, high): (f32, f32),
        origin: f32,
        scale: f32,
    ) -> Result<(), Error> {
        let count = image.len() as u32;
        let launch =
            Launch::over_elements(&self.kernels.intensity.clip, image.len(), THREADS, 8 * image.len() as u64);
        let target = image.write();
        // SAFETY: threads beyond the last voxel of the image return.
        unsafe { self.launch(launch, arguments![target, count, low, high, origin, scale]) }
    }

    pub(super) fn map_image(&self, image: &mut Image, curve: &[f32]) -> Result<(), Error> {
        let last = Error::check_curve(curve)? as i32;
        let points = Buffer::from_slice(&self.device, curve)?;
        let kernel = &self.kernels.intensity.map_intensities;
        let launch = Launch::over_elements(kernel, image.len(), THREADS, 8 * image.len() as u64);
        let (target, count, points) = (image.write(), image.len() as u32, points.pointer());
        // SAFETY: threads beyond the last voxel return. The curve has `last` + 1 points, and only these are read.
        unsafe { self.launch(launch, arguments![target, count, points, last]) }
    }
}
