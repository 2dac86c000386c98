//! Warping of images: a displacement field, followed by an affine map.

use antsreg_core::AffineTransform;

use crate::Sampling;
use crate::cpu::blocks::{each_row, each_row_with};
use crate::cpu::field::Field;
use crate::cpu::image::{Image, Sampler, Samples};
use crate::cpu::line::Line;
use crate::cpu::points::Points;

/// Warps an image: out(x) = image(m(x + u(x))), with the field u and the map m = `grid_to_image`.
pub(in crate::cpu) fn warp(
    image: &Image,
    field: &Field,
    grid_to_image: &AffineTransform,
    sampling: Sampling,
    out: &mut Image,
) {
    let sampler = Sampler::new(image, 0.0);
    if sampling == Sampling::Nearest {
        return warp_by(field, grid_to_image, out, |point| sampler.nearest(point));
    }
    let matrix = single(grid_to_image);
    linear(
        &sampler,
        out,
        #[inline(always)]
        |[j, k], first, samples, count| {
            let line = Line::new(grid_to_image, j, k);
            let vectors = &field.vectors()[field.index([first, j, k])..][..count];
            for (n, u) in vectors.iter().enumerate() {
                samples.points.set(n, displaced(line.at((first + n) as f32), &matrix, *u));
            }
        },
    );
}

/// Writes the trilinear values of an image, row by row. `set([j, k], first, samples, count)` sets the points of `count`
/// successive voxels of the row (·, j, k) of `out`, from voxel `first` on.
#[inline(always)]
pub(in crate::cpu) fn linear(
    sampler: &Sampler<'_>,
    out: &mut Image,
    set: impl Fn([usize; 2], usize, &mut Samples, usize) + Sync,
) {
    each_row_with(
        &mut out.voxels,
        out.shape,
        Samples::new,
        #[inline(always)]
        |samples, at, row| {
            for (n, values) in row.chunks_mut(Points::MOST).enumerate() {
                set(at, n * Points::MOST, samples, values.len());
                sampler.linear(samples, values);
            }
        },
    );
}

/// Warps an image, with any function `read` for interpolation: out(x) = read(m(x + u(x))), with the field u and the map
/// m = `grid_to_image`.
pub(in crate::cpu) fn warp_by(
    field: &Field,
    grid_to_image: &AffineTransform,
    out: &mut Image,
    read: impl Fn([f32; 3]) -> f32 + Sync,
) {
    let matrix = single(grid_to_image);
    each_row(
        &mut out.voxels,
        out.shape,
        #[inline(always)]
        |[j, k], row| {
            let line = Line::new(grid_to_image, j, k);
            let vectors = &field.vectors()[field.index([0, j, k])..];
            for (i, (voxel, u)) in row.iter_mut().zip(vectors).enumerate() {
                *voxel = read(displaced(line.at(i as f32), &matrix, *u));
            }
        },
    );
}

/// The matrix of an affine map in single precision, row by row.
fn single(map: &AffineTransform) -> [[f32; 3]; 3] {
    std::array::from_fn(|row| std::array::from_fn(|column| map.matrix[(row, column)] as f32))
}

/// The position m(x + u) in an image, from the position m(x) without the displacement u and the matrix of the map m.
#[inline(always)]
fn displaced(start: [f32; 3], matrix: &[[f32; 3]; 3], u: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|axis| {
        let m = matrix[axis];
        start[axis] + (m[0] * u[0] + m[1] * u[1] + m[2] * u[2])
    })
}
