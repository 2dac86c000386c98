//! Warping of images with interpolation by cubic splines.

use antsreg_core::AffineTransform;

use crate::cpu::field::Field;
use crate::cpu::image::{Cell, Image};
use crate::cpu::warping::warp::warp_by;
use crate::spline;

/// Warps an image by its spline: out(x) = spline(m(x + u(x))), with the field u and the map m = `grid_to_image`.
pub(in crate::cpu) fn warp_spline(
    coefficients: &Image,
    field: &Field,
    grid_to_image: &AffineTransform,
    out: &mut Image,
) {
    let Image { shape, voxels } = coefficients;
    let cell = Cell::new(*shape);
    warp_by(field, grid_to_image, out, |point| match cell.contains(point) {
        true => spline::value(*shape, voxels, point.map(f64::from)),
        false => 0.0,
    });
}
