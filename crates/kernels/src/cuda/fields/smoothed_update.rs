//! Updates of displacement fields from the derivatives of a metric, smoothed.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, Vector, arguments};
use crate::cuda::planes::plane;
use crate::metric_output::physical_factors;

/// Computes an update and smooths it component by component. Components wait in the second and third plane of the
/// output and in the memory of the derivatives, until the plane before is free.
pub(in crate::cuda) fn smoothed_update(
    cuda: &Cuda,
    image: &Image,
    derivative: &mut Image,
    spacing: [f64; 3],
    variance_voxels: f64,
    out: &mut Field,
) -> Result<(), Error> {
    let shape = image.shape;
    Error::check_shapes("smoothed_update", shape, [derivative.shape, out.shape])?;
    let planes = [0, 1, 2].map(|n| out.write() + 4 * n * plane(shape) as u64);
    let from = derivative.write();
    let waiting = [planes[1], planes[2], from];
    let [x_and_y, _, z] = if variance_voxels == 0.0 { planes } else { waiting };
    let launch =
        Launch::over_voxels(&cuda.kernels.update(&cuda.device)?.update, shape, (2 + 3) * 4 * image.len() as u64);
    let (values, metric, dimensions) = (image.read(), Vector(physical_factors(spacing)), Shape::of(shape));
    // SAFETY: image, derivatives and components are planes of this shape. Reads of neighbours are clamped to it, and
    // threads outside it return. A thread reads the derivative of its voxel before it writes there.
    unsafe { cuda.launch(launch, arguments![values, from, x_and_y, z, dimensions, metric])? };
    if variance_voxels > 0.0 {
        for (from, to) in waiting.into_iter().zip(planes) {
            // SAFETY: both are planes of this shape and do not overlap.
            unsafe { cuda.smooth_plane(from, variance_voxels, to, shape)? };
        }
    }
    Ok(())
}
