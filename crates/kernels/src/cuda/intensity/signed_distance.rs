//! Signed distances of voxels to the border of a set of voxels.

use crate::cuda::Cuda;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::{DistanceLimits, Error};

pub(in crate::cuda) fn signed_distance(
    cuda: &Cuda,
    set: &Image,
    spacing_mm: [f64; 3],
    limits: DistanceLimits,
) -> Result<Image, Error> {
    let kernels = cuda.kernels.distance(&cuda.device)?;
    let (shape, bytes) = (Shape::of(set.shape), 8 * set.len() as u64);
    let [x, y, z] = spacing_mm.map(|mm| mm as f32);
    let [outside, inside] = limits.squares();
    let mut along_x = Image::uninitialised(&cuda.device, set.shape)?;
    let launch = Launch::over_voxels(&kernels.distance_along_rows, set.shape, bytes);
    let (source, target) = (set.read(), along_x.write());
    // SAFETY: both images have one shape. Only voxels within it are read, and threads outside it return.
    unsafe { cuda.launch(launch, arguments![source, x, outside, inside, target, shape])? };
    let lower = |from: &Image, axis: i32, step: f32, to: &mut Image| {
        let launch = Launch::over_voxels(&kernels.distance_across_rows, set.shape, bytes);
        let (source, last, target) = (from.read(), i32::from(axis == 1), to.write());
        // SAFETY: as above. The two images are different ones.
        unsafe { cuda.launch(launch, arguments![source, axis, step, last, target, shape]) }
    };
    let mut along_z = Image::uninitialised(&cuda.device, set.shape)?;
    lower(&along_x, 2, z, &mut along_z)?;
    lower(&along_z, 1, y, &mut along_x)?;
    Ok(along_x)
}
