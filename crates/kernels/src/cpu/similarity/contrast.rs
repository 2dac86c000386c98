//! The contrast of the moving image across a surface, for a batch of transforms. Surface points are processed in
//! chunks, whose sums are added in order.

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use crate::cpu::image::Image;
use crate::{Contrast, ContrastRule, Error};

/// Number of surface points of a chunk.
const CHUNK: usize = 2048;

/// Computes the contrast of the moving image across a surface, as defined by
/// [`Similarity::contrast`](crate::ops::Similarity::contrast).
pub(in crate::cpu) fn contrast(
    points: &Image,
    moving: &Image,
    rule: &ContrastRule,
    maps: &[AffineTransform],
) -> Result<Vec<Contrast>, Error> {
    let count = points.shape[0];
    Error::check_shapes("contrast", [count, ContrastRule::ROWS, 1], [points.shape])?;
    let chunks = count.div_ceil(CHUNK).max(1);
    let pieces: Vec<[f64; 3]> = (0..chunks * maps.len())
        .into_par_iter()
        .map(|task| {
            let (map, chunk) = (&maps[task / chunks], task % chunks);
            piece(points, moving, rule, map, chunk * CHUNK..((chunk + 1) * CHUNK).min(count))
        })
        .collect();
    let total = |pieces: &[[f64; 3]]| {
        let [weight, signed, unsigned] = [0, 1, 2].map(|part| pieces.iter().map(|piece| piece[part]).sum());
        Contrast { weight, signed, unsigned }
    };
    Ok(pieces.chunks_exact(chunks).map(total).collect())
}

/// The sums of the contrast over a range of surface points.
fn piece(
    points: &Image,
    moving: &Image,
    rule: &ContrastRule,
    map: &AffineTransform,
    range: std::ops::Range<usize>,
) -> [f64; 3] {
    let count = points.shape[0];
    let rows: [&[f32]; ContrastRule::ROWS] =
        std::array::from_fn(|row| &points.voxels[row * count..(row + 1) * count]);
    let matrix: [[f32; 3]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|column| map.matrix[(row, column)] as f32));
    let shift: [f32; 3] = std::array::from_fn(|row| map.translation[row] as f32);
    let mapped = |first: usize, n: usize| -> [f32; 3] {
        let [x, y, z] = [rows[first][n], rows[first + 1][n], rows[first + 2][n]];
        std::array::from_fn(|row| {
            let [a, b, c] = matrix[row];
            a * x + (b * y + (c * z + shift[row]))
        })
    };
    let mut sums = [0.0; 3];
    for n in range {
        let (inner, outer) = (mapped(0, n), mapped(3, n));
        let weight = rows[6][n] * ramp(inner, moving.shape) * ramp(outer, moving.shape);
        // Only if the weight of the surface point is positive, its inner and its outer position lie within the moving
        // image.
        if weight.is_nan() || weight <= 0.0 {
            continue;
        }
        let (within, beyond) = (value(moving, inner), value(moving, outer));
        let mean = 0.5 * (within + beyond);
        if mean.is_nan() || mean <= rule.least {
            continue;
        }
        let difference = 100.0 * (beyond - within) / mean - rule.offset;
        sums[0] += f64::from(weight);
        sums[1] += f64::from(weight * (rule.slope * difference).tanh());
        sums[2] += f64::from(weight * (rule.slope * difference.abs()).tanh());
    }
    sums
}

/// Weight of a position in the moving image: the product over the axes of its distance from the border, at most 1 voxel
/// each; 0 outside the image.
fn ramp(at: [f32; 3], shape: [usize; 3]) -> f32 {
    let along = |axis: usize| {
        let distance = at[axis].min((shape[axis] as f32 - 1.0) - at[axis]);
        if distance >= 0.0 { distance.min(1.0) } else { 0.0 }
    };
    // `min` returns the other number if one argument is NaN, so NaN is tested separately.
    if at.iter().any(|index| index.is_nan()) { 0.0 } else { along(0) * along(1) * along(2) }
}

/// The trilinear value of an image at a point inside the image, not at its border.
fn value(image: &Image, at: [f32; 3]) -> f32 {
    let [nx, ny, _] = image.shape;
    let low = at.map(|index| index as usize);
    let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| at[axis] - low[axis] as f32);
    let first = low[0] + nx * (low[1] + ny * low[2]);
    let row = |offset: usize| {
        let pair = &image.voxels[first + offset..first + offset + 2];
        pair[0] + x * (pair[1] - pair[0])
    };
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    mix(mix(row(0), row(nx), y), mix(row(nx * ny), row(nx * ny + nx), y), z)
}
