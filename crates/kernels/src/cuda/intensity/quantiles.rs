//! Quantiles of an image's intensities.

use antsreg_core::intensity::{HALVES, Quantiles, foreground_quantiles_by, quantiles_by};

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, arguments};

/// Number of threads of a block in the kernels that process image intensities.
pub(in crate::cuda) const THREADS: u32 = 256;

pub(in crate::cuda) fn quantiles(cuda: &Cuda, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
    quantiles_by(|upper| count_keys(cuda, image, upper), low, high)
}

pub(in crate::cuda) fn foreground_quantiles(
    cuda: &Cuda,
    image: &Image,
    low: f64,
    high: f64,
) -> Result<Quantiles, Error> {
    foreground_quantiles_by(|upper| count_keys(cuda, image, upper), low, high)
}

/// Sort keys of 32 bits have the order of the voxel values. Counts the finite voxels by the upper 16 bits of their
/// keys, or by the lower 16 bits if `upper` gives the upper bits.
fn count_keys(cuda: &Cuda, image: &Image, upper: Option<u16>) -> Result<Vec<u32>, Error> {
    let table = Buffer::<u32>::zeroed(&cuda.device, HALVES)?;
    let blocks = cuda.blocks_for(image.len(), THREADS);
    let launch =
        Launch::of_blocks(&cuda.kernels.intensity(&cuda.device)?.count_keys, blocks, THREADS, 4 * image.len() as u64);
    let (source, count, upper) = (image.read(), image.len() as u32, upper.map_or(-1, i32::from));
    let target = table.pointer();
    // SAFETY: threads read only voxels of the image. An entry of the table is selected by half a sort key, which
    // has 16 bits, so the index is always valid.
    unsafe { cuda.launch(launch, arguments![source, count, upper, target])? };
    table.download(HALVES)
}
