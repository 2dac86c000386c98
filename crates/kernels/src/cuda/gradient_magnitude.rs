//! The gradient magnitude of an image, and its mean by intensity.

use super::Cuda;
use super::buffer::Buffer;
use super::image::Image;
use super::launch::{Launch, Shape, Vector, arguments};
use crate::{Error, PROFILE_BINS, ProfileBin, profile};

/// Number of threads of a block in the kernel of the profile.
const THREADS: u32 = 256;

/// Factors by which the differences along the axes are multiplied.
fn scale(spacing: [f64; 3]) -> Vector {
    let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    Vector(spacing.map(|spacing| (finest / spacing) as f32))
}

impl Cuda {
    pub(super) fn magnitude_of_gradient(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        let mut out = Image::uninitialised(&self.device, image.shape)?;
        let kernel = &self.kernels.gradient_magnitude(&self.device)?.gradient_magnitude;
        let launch = Launch::over_voxels(kernel, image.shape, 8 * image.len() as u64);
        let (source, scale, target, shape) = (image.read(), scale(spacing), out.write(), Shape::of(image.shape));
        // SAFETY: both images have one shape. Only neighbours within it are read, and threads outside it return.
        unsafe { self.launch(launch, arguments![source, scale, target, shape])? };
        Ok(out)
    }

    pub(super) fn profile_of_gradient(&self, image: &Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error> {
        let sums = Buffer::<u64>::zeroed(&self.device, 2 * PROFILE_BINS)?;
        let kernel = &self.kernels.gradient_magnitude(&self.device)?.gradient_profile;
        let blocks = self.blocks_for(image.len(), THREADS);
        let launch = Launch::of_blocks(kernel, blocks, THREADS, 4 * image.len() as u64);
        let (source, scale, shape, target) = (image.read(), scale(spacing), Shape::of(image.shape), sums.pointer());
        // SAFETY: threads read only voxels of the image. `sums` has two numbers for each bin.
        unsafe { self.launch(launch, arguments![source, scale, shape, target])? };
        let sums = sums.download(2 * PROFILE_BINS)?;
        Ok(profile::bins(std::array::from_fn(|bin| [sums[2 * bin], sums[2 * bin + 1]])))
    }
}
