//! The gradient magnitude of an image.

use rayon::prelude::*;

use crate::cpu::gradient::{Gradient, Slopes};
use crate::cpu::image::Image;

/// The gradient magnitude of an image, as [`Intensity::gradient_magnitude`](crate::ops::Intensity::gradient_magnitude) defines it.
pub(in crate::cpu) fn gradient_magnitude(image: &Image, spacing: [f64; 3]) -> Image {
    let nx = image.shape[0];
    let gradient = Gradient::per_finest_spacing(image.shape, spacing);
    let mut out = Image::zeros(image.shape);
    let rows = out.voxels.par_chunks_mut(nx).enumerate();
    rows.for_each_init(
        || Slopes::new(nx),
        |slopes, (row, voxels)| {
            let magnitudes = gradient.magnitudes(&image.voxels, row, slopes);
            voxels.iter_mut().zip(magnitudes).for_each(|(voxel, magnitude)| *voxel = magnitude);
        },
    );
    out
}
