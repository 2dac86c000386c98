//! The gradient magnitude of an image.

use super::Cuda;
use super::image::Image;
use super::launch::{Launch, Shape, Vector, arguments};
use crate::Error;

impl Cuda {
    pub(super) fn magnitude_of_gradient(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        let mut out = Image::uninitialised(&self.device, image.shape)?;
        let kernel = &self.kernels.gradient_magnitude(&self.device)?.gradient_magnitude;
        let launch = Launch::over_voxels(kernel, image.shape, 8 * image.len() as u64);
        let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        let scale = Vector(spacing.map(|spacing| (finest / spacing) as f32));
        let (source, target, shape) = (image.read(), out.write(), Shape::of(image.shape));
        // SAFETY: both images have one shape. Only neighbours within it are read, and threads outside it return.
        unsafe { self.launch(launch, arguments![source, scale, target, shape])? };
        Ok(out)
    }
}
