//! Pearson's correlation of two images.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::scores::PairSums;

pub(in crate::cuda) fn correlation(
    cuda: &Cuda,
    first: &Image,
    second: &Image,
    mask: Option<&Image>,
) -> Result<f64, Error> {
    let found = [Some(second), mask].into_iter().flatten().map(|image| image.shape);
    Error::check_shapes("correlation", first.shape, found)?;
    let blocks = cuda.blocks_for(first.len(), 256);
    let images = 2 + u64::from(mask.is_some());
    let bytes = images * 4 * first.len() as u64;
    let launch = Launch::of_blocks(&cuda.kernels.correlation(&cuda.device)?.correlation, blocks, 256, bytes);
    let mut scratch = cuda.scratch();
    // Reserves memory for the partial sums of the correlation: 48 bytes for each thread block.
    scratch.reserve(&cuda.device, 3 * blocks as usize)?;
    let (a, b, shape) = (first.read(), second.read(), Shape::of(first.shape));
    let mask = mask.map_or(0, Image::read);
    let (parts, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
    let result = scratch.result.pointer();
    // SAFETY: images and mask have one shape, and only voxels within it are read. `parts` has room for the sums of
    // each block, and `result` has six numbers.
    unsafe { cuda.launch(launch, arguments![a, b, mask, shape, parts, counter, result])? };
    let mut found = [0.0; 6];
    scratch.result.download_into(&mut found)?;
    let [a, b, aa, bb, ab, counted] = found;
    Ok(PairSums { counted: counted as u64, a, b, aa, bb, ab }.correlation())
}
