//! Separable Gaussian smoothing of images and fields.

use rayon::prelude::*;

use super::field::Field;
use super::image::Image;
use super::{blocks, slab, widest};
use crate::gaussian;

/// Makes a copy of the image smoothed by a Gaussian. Beyond its border the image continues with the border value.
pub(super) fn image(image: &Image, sigma_voxels: [f64; 3]) -> Image {
    if sigma_voxels == [0.0; 3] {
        return image.clone();
    }
    let kernels = sigma_voxels.map(|sigma| gaussian::kernel(sigma * sigma));
    let mut source = image.clone();
    let mut out = Image::zeros(image.shape);
    separable(&mut source.voxels, &mut out.voxels, 1, image.shape, &kernels);
    out
}

/// Smooths a field in place, by the rules of [`Backend::smooth_both_fields`](crate::Backend::smooth_both_fields).
pub(super) fn field(field: &mut Field, variance_voxels: f64, scratch: &mut Field) {
    if variance_voxels == 0.0 {
        return;
    }
    let shape = field.shape;
    // For variances below 0.5 the result is blended with the unsmoothed field. Smoothing along the axes overwrites the
    // unsmoothed field, so this field is copied first. Such small variances are rare.
    let blend = (variance_voxels < 0.5).then(|| (field.clone(), (variance_voxels / 0.5) as f32));
    let kernel = gaussian::kernel(variance_voxels);
    let kernels = std::array::from_fn(|axis| if shape[axis] > 1 { kernel.clone() } else { vec![1.0] });
    let source = field.vectors_mut().as_flattened_mut();
    separable(source, scratch.vectors_mut().as_flattened_mut(), 3, shape, &kernels);
    std::mem::swap(field, scratch);
    if let Some((unsmoothed, weight)) = blend {
        field.vectors_mut().par_iter_mut().zip(unsmoothed.vectors()).for_each(|(smoothed, before)| {
            *smoothed = std::array::from_fn(|c| weight * smoothed[c] + (1.0 - weight) * before[c]);
        });
    }
    clear_border(field);
}

fn clear_border(field: &mut Field) {
    let [nx, ny, nz] = field.shape;
    let on_edge = |index: usize, n: usize| n > 1 && (index == 0 || index == n - 1);
    field.vectors_mut().par_chunks_mut(nx).enumerate().for_each(|(row, vectors)| {
        if on_edge(row % ny, ny) || on_edge(row / ny, nz) {
            vectors.fill([0.0; 3]);
        } else if nx > 1 {
            vectors[0] = [0.0; 3];
            vectors[nx - 1] = [0.0; 3];
        }
    });
}

/// Convolves a volume, whose voxels have `width` floats each, with one symmetric kernel for each axis. `kernels` has
/// the weights of each kernel from the middle outwards. The result is in `out`; `voxels` is overwritten.
fn separable(voxels: &mut [f32], out: &mut [f32], width: usize, shape: [usize; 3], kernels: &[Vec<f32>; 3]) {
    let [nx, ny, nz] = shape;
    let row = nx * width;
    let slice = row * ny;
    let slices = slab(nz);
    // The volume is smoothed along x into `out` and along y back into `voxels`, slice by slice, so that a slice stays
    // in the cache.
    let margin = width * (kernels[0].len() - 1);
    let padded = || vec![0.0; row + 2 * margin];
    voxels.par_chunks_mut(slice).zip(out.par_chunks_mut(slice)).for_each_init(padded, |padded, (voxels, out)| {
        widest(
            #[inline(always)]
            || {
                for (source, target) in voxels.chunks_exact(row).zip(out.chunks_exact_mut(row)) {
                    pad(source, width, margin, padded);
                    let shifted = |by: usize| &padded[by..by + row];
                    let taps = |k: usize| (shifted(margin - k * width), shifted(margin + k * width));
                    weighted_sum(&kernels[0], taps, target);
                }
                for (j, target) in voxels.chunks_exact_mut(row).enumerate() {
                    let at = |j: usize| &out[j * row..(j + 1) * row];
                    weighted_sum(&kernels[1], |k| (at(j.saturating_sub(k)), at((j + k).min(ny - 1))), target);
                }
            },
        );
    });
    // The volume is smoothed along z row by row, through all slices of a chunk, so that the rows needed stay in the
    // cache.
    let voxels = &*voxels;
    out.par_chunks_mut(slice * slices).enumerate().for_each(|(chunk, out)| {
        widest(
            #[inline(always)]
            || {
                for j in 0..ny {
                    let at = |k: usize| &voxels[k * slice + j * row..][..row];
                    for (offset, target) in out.chunks_exact_mut(slice).enumerate() {
                        let k = chunk * slices + offset;
                        let target = &mut target[j * row..][..row];
                        weighted_sum(&kernels[2], |t| (at(k.saturating_sub(t)), at((k + t).min(nz - 1))), target);
                    }
                }
            },
        );
    });
}

/// Copies a row of voxels, of `width` floats each, to a longer buffer. The margins before and after the row get copies
/// of its first and last voxel.
#[inline(always)]
fn pad(row: &[f32], width: usize, margin: usize, padded: &mut [f32]) {
    let (before, rest) = padded.split_at_mut(margin);
    let (inside, after) = rest.split_at_mut(row.len());
    before.chunks_exact_mut(width).for_each(|voxel| voxel.copy_from_slice(&row[..width]));
    inside.copy_from_slice(row);
    after.chunks_exact_mut(width).for_each(|voxel| voxel.copy_from_slice(&row[row.len() - width..]));
}

/// Weighted sum of rows of numbers by a symmetric kernel, element by element: target = w₀·a₀ + Σ_k w_k·(a_k + b_k).
/// `taps(k)` gives the rows (a_k, b_k).
#[inline(always)]
fn weighted_sum<'a>(weights: &[f32], taps: impl Fn(usize) -> (&'a [f32], &'a [f32]), target: &mut [f32]) {
    match target.len() {
        128.. => weighted_sum_by::<128>(weights, taps, target),
        32.. => weighted_sum_by::<32>(weights, taps, target),
        8.. => weighted_sum_by::<8>(weights, taps, target),
        _ => weighted_sum_by::<1>(weights, taps, target),
    }
}

/// Computes the weighted sum of rows of numbers, as [`weighted_sum`] does, for `LANES` elements at a time.
#[inline(always)]
fn weighted_sum_by<'a, const LANES: usize>(
    weights: &[f32],
    taps: impl Fn(usize) -> (&'a [f32], &'a [f32]),
    target: &mut [f32],
) {
    for from in blocks(target.len(), LANES) {
        let block = from..from + LANES;
        let centre = &taps(0).0[block.clone()];
        let mut sum: [f32; LANES] = std::array::from_fn(|lane| weights[0] * centre[lane]);
        for (k, weight) in weights.iter().enumerate().skip(1) {
            let (a, b) = taps(k);
            let (a, b) = (&a[block.clone()], &b[block.clone()]);
            for lane in 0..LANES {
                sum[lane] += weight * (a[lane] + b[lane]);
            }
        }
        target[block].copy_from_slice(&sum);
    }
}
