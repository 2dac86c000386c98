//! Warps images with windowed sinc interpolation.

use antsreg_core::AffineTransform;

use crate::apply::{Window, WindowedSinc};
use crate::cpu::field::Field;
use crate::cpu::image::{Cell, Image};
use crate::cpu::warping::warp::warp_by;

/// Warps an image with windowed sinc interpolation: out(x) = image(m(x + u(x))), with the field u and the map m =
/// `grid_to_image`.
pub(in crate::cpu) fn warp_sinc(image: &Image, field: &Field, grid_to_image: &AffineTransform, out: &mut Image) {
    let cell = Cell::new(image.shape);
    let sampler = WindowedSinc::new(image.shape, &image.voxels, Window::Lanczos);
    warp_by(field, grid_to_image, out, |point| match cell.contains(point) {
        true => sampler.value(point.map(f64::from)),
        false => 0.0,
    });
}
