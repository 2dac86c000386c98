//! Cubic spline coefficients of an image, and interpolation with these coefficients.

use antsreg_core::AffineTransform;

use super::field::Field;
use super::image::{Cell, Image};
use super::resample::warp_by;
use crate::spline;

/// Computes the cubic spline coefficients of an image, as defined by
/// [`Backend::spline_coefficients`](crate::Backend::spline_coefficients).
pub(super) fn coefficients(image: &Image) -> Image {
    Image { shape: image.shape, voxels: spline::coefficients(image.shape, &image.voxels).into() }
}

/// Warps an image by its spline: out(x) = spline(m(x + u(x))), with the field u and the map m = `grid_to_image`.
pub(super) fn warp(coefficients: &Image, field: &Field, grid_to_image: &AffineTransform, out: &mut Image) {
    let Image { shape, voxels } = coefficients;
    let cell = Cell::new(*shape);
    warp_by(field, grid_to_image, out, |point| match cell.contains(point) {
        true => spline::value(*shape, voxels, point.map(f64::from)),
        false => 0.0,
    });
}
