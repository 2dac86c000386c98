//! The mean gradient magnitude of an image by intensity.

use super::gradient_magnitude::scale;
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::{Error, PROFILE_BINS, ProfileBin, profile};

/// Number of threads of a block in the kernel of the profile.
const THREADS: u32 = 256;

pub(in crate::cuda) fn gradient_profile(
    cuda: &Cuda,
    image: &Image,
    spacing: [f64; 3],
) -> Result<Vec<ProfileBin>, Error> {
    let sums = Buffer::<u64>::zeroed(&cuda.device, 2 * PROFILE_BINS)?;
    let kernel = &cuda.kernels.gradient_magnitude(&cuda.device)?.gradient_profile;
    let blocks = cuda.blocks_for(image.len(), THREADS);
    let launch = Launch::of_blocks(kernel, blocks, THREADS, 4 * image.len() as u64);
    let (source, scale, shape, target) = (image.read(), scale(spacing), Shape::of(image.shape), sums.pointer());
    // SAFETY: threads read only voxels of the image. `sums` has two numbers for each bin.
    unsafe { cuda.launch(launch, arguments![source, scale, shape, target])? };
    let sums = sums.download(2 * PROFILE_BINS)?;
    Ok(profile::bins(std::array::from_fn(|bin| [sums[2 * bin], sums[2 * bin + 1]])))
}
