//! Separable Gaussian smoothing of images and fields.

use rayon::prelude::*;

use super::field::Field;
use super::image::Image;
use super::{slab, wide};
use crate::gaussian;

/// Kernel errors as ITK chooses them for images and for fields.
const IMAGE_ERROR: f64 = 0.01;
const FIELD_ERROR: f64 = 0.001;

/// A smoothed copy; the image continues beyond its border with its edge value.
pub(super) fn image(image: &Image, sigma_voxels: [f64; 3]) -> Image {
    if sigma_voxels == [0.0; 3] {
        return image.clone();
    }
    let kernels = sigma_voxels.map(|sigma| gaussian::kernel(sigma * sigma, IMAGE_ERROR));
    let mut source = image.clone();
    let mut out = Image::zeros(image.shape);
    separable(&mut source.voxels, &mut out.voxels, 1, image.shape, &kernels);
    out
}

/// Smooths a field in place; see [`Backend::smooth_field`](crate::Backend::smooth_field).
pub(super) fn field(field: &mut Field, variance_voxels: f64, scratch: &mut Field) {
    if variance_voxels == 0.0 {
        return;
    }
    let shape = field.shape;
    // The blend needs the unsmoothed field, which the passes overwrite; nobody smooths this little in a hot loop.
    let blend = (variance_voxels < 0.5).then(|| (field.clone(), (variance_voxels / 0.5) as f32));
    let kernel = gaussian::kernel(variance_voxels, FIELD_ERROR);
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

/// Convolves `voxels` (`width` floats each) with one half kernel per axis; the result is in `out`, `voxels` is overwritten.
fn separable(voxels: &mut [f32], out: &mut [f32], width: usize, shape: [usize; 3], kernels: &[Vec<f32>; 3]) {
    let [nx, ny, nz] = shape;
    let row = nx * width;
    let slice = row * ny;
    let slices = slab(nz);
    // x into `out`, y back into `voxels`, a slice at a time so that it stays in cache.
    voxels.par_chunks_mut(slice).zip(out.par_chunks_mut(slice)).for_each(|(voxels, out)| {
        wide(|| {
            for (source, target) in voxels.chunks_exact(row).zip(out.chunks_exact_mut(row)) {
                along_row(&kernels[0], source, width, target);
            }
            for (j, target) in voxels.chunks_exact_mut(row).enumerate() {
                let at = |j: usize| &out[j * row..(j + 1) * row];
                weighted_sum(&kernels[1], |k| (at(j.saturating_sub(k)), at((j + k).min(ny - 1))), target);
            }
        })
    });
    // z: all slices of one row before the next row, so that the taps stay in cache.
    let voxels = &*voxels;
    out.par_chunks_mut(slice * slices).enumerate().for_each(|(chunk, out)| {
        wide(|| {
            for j in 0..ny {
                let at = |k: usize| &voxels[k * slice + j * row..][..row];
                for (offset, target) in out.chunks_exact_mut(slice).enumerate() {
                    let k = chunk * slices + offset;
                    let target = &mut target[j * row..][..row];
                    weighted_sum(&kernels[2], |t| (at(k.saturating_sub(t)), at((k + t).min(nz - 1))), target);
                }
            }
        })
    });
}

/// One row along itself: shifted copies in the middle, clamped indices near the ends.
#[inline(always)]
fn along_row(kernel: &[f32], source: &[f32], width: usize, target: &mut [f32]) {
    let radius = (kernel.len() - 1) * width;
    let n = source.len();
    let middle = radius.min(n)..n.saturating_sub(radius).max(radius.min(n));
    let clamped = |e: usize| {
        let (voxel, component) = (e / width, e % width);
        let last = n / width - 1;
        let mut sum = kernel[0] * source[e];
        for (k, weight) in kernel.iter().enumerate().skip(1) {
            let (low, high) = (voxel.saturating_sub(k), (voxel + k).min(last));
            sum += weight * (source[low * width + component] + source[high * width + component]);
        }
        sum
    };
    for e in (0..middle.start).chain(middle.end..n) {
        target[e] = clamped(e);
    }
    let (start, len) = (middle.start, middle.len());
    let shifted = |at: usize| &source[at..at + len];
    weighted_sum(
        kernel,
        |k| if len > 0 { (shifted(start - k * width), shifted(start + k * width)) } else { (&[], &[]) },
        &mut target[middle],
    );
}

/// target = w₀·a₀ + Σ_k w_k·(a_k + b_k), where `taps(k)` gives (a_k, b_k).
#[inline(always)]
fn weighted_sum<'a>(weights: &[f32], taps: impl Fn(usize) -> (&'a [f32], &'a [f32]), target: &mut [f32]) {
    const LANES: usize = 64;
    let n = target.len();
    let mut blocks = target.chunks_exact_mut(LANES);
    for (block, target) in (&mut blocks).enumerate() {
        let from = block * LANES;
        let centre = &taps(0).0[from..from + LANES];
        let mut sum: [f32; LANES] = std::array::from_fn(|lane| weights[0] * centre[lane]);
        for (k, weight) in weights.iter().enumerate().skip(1) {
            let (a, b) = taps(k);
            let (a, b) = (&a[from..from + LANES], &b[from..from + LANES]);
            for lane in 0..LANES {
                sum[lane] += weight * (a[lane] + b[lane]);
            }
        }
        target.copy_from_slice(&sum);
    }
    let rest = blocks.into_remainder();
    let from = n - rest.len();
    for (lane, target) in rest.iter_mut().enumerate() {
        *target = weights[0] * taps(0).0[from + lane];
        for (k, weight) in weights.iter().enumerate().skip(1) {
            let (a, b) = taps(k);
            *target += weight * (a[from + lane] + b[from + lane]);
        }
    }
}
