//! Warps images with windowed sinc interpolation.

use antsreg_core::AffineTransform;

use super::field::Field;
use super::image::{Cell, Image};
use super::resample::warp_by;
use crate::apply::{Window, WindowedSinc};

/// Warps an image with windowed sinc interpolation: out(x) = image(m(x + u(x))), with the field u and the map m =
/// `grid_to_image`.
pub(super) fn warp(image: &Image, field: &Field, grid_to_image: &AffineTransform, out: &mut Image) {
    let cell = Cell::new(image.shape);
    let sampler = WindowedSinc::new(image.shape, &image.voxels, Window::Lanczos);
    warp_by(field, grid_to_image, out, |point| match cell.contains(point) {
        true => sampler.value(point.map(f64::from)),
        false => 0.0,
    });
}
