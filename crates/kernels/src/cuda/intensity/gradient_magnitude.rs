//! The gradient magnitude of an image.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, Vector, arguments};

/// Factors by which the differences along the axes are multiplied.
pub(in crate::cuda) fn scale(spacing: [f64; 3]) -> Vector {
    let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    Vector(spacing.map(|spacing| (finest / spacing) as f32))
}

pub(in crate::cuda) fn gradient_magnitude(cuda: &Cuda, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
    let mut out = Image::uninitialised(&cuda.device, image.shape)?;
    let kernel = &cuda.kernels.gradient_magnitude(&cuda.device)?.gradient_magnitude;
    let launch = Launch::over_voxels(kernel, image.shape, 8 * image.len() as u64);
    let (source, scale, target, shape) = (image.read(), scale(spacing), out.write(), Shape::of(image.shape));
    // SAFETY: both images have one shape. Only neighbours within it are read, and threads outside it return.
    unsafe { cuda.launch(launch, arguments![source, scale, target, shape])? };
    Ok(out)
}
