//! Resampling of images through an affine map, or through a displacement field followed by an affine map.

use antsreg_core::AffineTransform;

use super::blocks::each_row;
use super::field::Field;
use super::image::{Image, Sampler};
use crate::Sampling;

/// Resamples an image by trilinear interpolation: out(x) = image(m(x)), with the map m = `out_to_image`.
pub(super) fn affine(image: &Image, out_to_image: &AffineTransform, outside: f32, out: &mut Image) {
    let sampler = Sampler::new(image, outside);
    each_row(
        &mut out.voxels,
        out.shape,
        #[inline(always)]
        |[j, k], row| {
            let line = Line::new(out_to_image, j, k);
            for (i, voxel) in row.iter_mut().enumerate() {
                *voxel = sampler.linear(line.at(i as f32));
            }
        },
    );
}

/// Warps an image: out(x) = image(m(x + u(x))), with the field u and the map m = `grid_to_image`.
pub(super) fn warp(
    image: &Image,
    field: &Field,
    grid_to_image: &AffineTransform,
    sampling: Sampling,
    out: &mut Image,
) {
    let sampler = Sampler::new(image, 0.0);
    match sampling {
        Sampling::Linear => warp_by(field, grid_to_image, out, |point| sampler.linear(point)),
        Sampling::Nearest => warp_by(field, grid_to_image, out, |point| sampler.nearest(point)),
    }
}

/// Warps an image, with any function `read` for interpolation: out(x) = read(m(x + u(x))), with the field u and the map
/// m = `grid_to_image`.
pub(super) fn warp_by(
    field: &Field,
    grid_to_image: &AffineTransform,
    out: &mut Image,
    read: impl Fn([f32; 3]) -> f32 + Sync,
) {
    let matrix: [[f32; 3]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|column| grid_to_image.matrix[(row, column)] as f32));
    each_row(
        &mut out.voxels,
        out.shape,
        #[inline(always)]
        |[j, k], row| {
            let line = Line::new(grid_to_image, j, k);
            let vectors = &field.vectors()[field.index([0, j, k])..];
            for (i, (voxel, u)) in row.iter_mut().zip(vectors).enumerate() {
                let start = line.at(i as f32);
                *voxel = read(std::array::from_fn(|axis| {
                    let m = matrix[axis];
                    start[axis] + (m[0] * u[0] + m[1] * u[1] + m[2] * u[2])
                }));
            }
        },
    );
}

/// The positions of one row of a grid under an affine map: a straight line, whose start is computed in double precision
/// and whose other points are computed from it in single precision.
#[derive(Clone, Copy)]
pub(super) struct Line {
    start: [f32; 3],
    step: [f32; 3],
}

impl Line {
    pub(super) fn new(map: &AffineTransform, j: usize, k: usize) -> Line {
        let start = map.matrix.column(1) * j as f64 + map.matrix.column(2) * k as f64 + map.translation;
        Line {
            start: std::array::from_fn(|axis| start[axis] as f32),
            step: std::array::from_fn(|axis| map.matrix[(axis, 0)] as f32),
        }
    }

    #[inline(always)]
    pub(super) fn at(&self, i: f32) -> [f32; 3] {
        std::array::from_fn(|axis| self.start[axis] + i * self.step[axis])
    }
}
