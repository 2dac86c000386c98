//! Separable Gaussian smoothing of images and fields.

use rayon::prelude::*;

use crate::cpu::extent::Extent;
use crate::cpu::field::{Field, longest_squared};
use crate::cpu::gradient::{Slopes, Update};
use crate::cpu::image::Image;
use crate::cpu::{lanes, widest};
use crate::gaussian;

/// Makes a copy of the image smoothed by a Gaussian. Beyond its border the image continues with the border value.
pub(in crate::cpu) fn smooth(image: &Image, sigma_voxels: [f64; 3]) -> Image {
    if sigma_voxels == [0.0; 3] {
        return image.clone();
    }
    let [nx, ny, _] = image.shape;
    let kernels = sigma_voxels.map(|sigma| gaussian::kernel(sigma * sigma));
    let mut out = Image::zeros(image.shape);
    let copy = |(): &mut (), [j, k]: [usize; 2], row: &mut [f32]| {
        row.copy_from_slice(&image.voxels[(k * ny + j) * nx..][..nx]);
    };
    separable(&mut out.voxels, 1, image.shape, &kernels, || (), copy, |_, _| 0.0);
    out
}

/// Smooths a field in place, by the rules of [`Fields::smooth_both_fields`](crate::ops::Fields::smooth_both_fields).
pub(in crate::cpu) fn smooth_field(field: &mut Field, variance_voxels: f64) {
    if variance_voxels == 0.0 {
        return;
    }
    // For variances below 0.5 the result is blended with the unsmoothed field, of which a copy is made for this. Such
    // small variances are rare.
    let blend = (variance_voxels < BLENDED_BELOW).then(|| (field.clone(), (variance_voxels / BLENDED_BELOW) as f32));
    let (shape, kernels) = (field.shape, kernels(field.shape, variance_voxels));
    let vectors = field.vectors_mut().as_flattened_mut();
    let longest = separable(vectors, 3, shape, &kernels, || (), |(), _, _| (), |at, row| end_row(shape, at, row));
    if let Some((unsmoothed, weight)) = blend {
        field.vectors_mut().par_iter_mut().zip(unsmoothed.vectors()).for_each(|(smoothed, before)| {
            *smoothed = std::array::from_fn(|c| weight * smoothed[c] + (1.0 - weight) * before[c]);
        });
        clear_border(field);
    } else {
        field.keep_longest(longest);
    }
}

/// Computes an update and smooths it, by the rules of
/// [`Fields::smoothed_update`](crate::ops::Fields::smoothed_update).
pub(in crate::cpu) fn smoothed_update(update: &Update<'_>, variance_voxels: f64, out: &mut Field) {
    if variance_voxels < BLENDED_BELOW {
        update.write(out);
        return smooth_field(out, variance_voxels);
    }
    let (shape, kernels) = (out.shape, kernels(out.shape, variance_voxels));
    let longest = separable(
        out.vectors_mut().as_flattened_mut(),
        3,
        shape,
        &kernels,
        || Slopes::new(shape[0]),
        |slopes, at, row| update.row(at, slopes, row.as_chunks_mut().0),
        |at, row| end_row(shape, at, row),
    );
    out.keep_longest(longest);
}

/// Variance, voxels², below which a smoothed field is blended with the field before smoothing, as in ITK.
const BLENDED_BELOW: f64 = 0.5;

/// The kernel of a Gaussian for each axis of a field. An axis of one voxel is not smoothed.
fn kernels(shape: [usize; 3], variance_voxels: f64) -> [Vec<f32>; 3] {
    let kernel = gaussian::kernel(variance_voxels);
    shape.map(|n| if n > 1 { kernel.clone() } else { vec![1.0] })
}

/// Sets the displacements at the border to zero.
fn clear_border(field: &mut Field) {
    let (shape, [nx, ny, _]) = (field.shape, field.shape);
    let rows = field.vectors_mut().par_chunks_mut(nx).enumerate();
    rows.for_each(|(row, vectors)| clear_border_of_row(shape, [row % ny, row / ny], vectors));
}

#[inline(always)]
fn clear_border_of_row([nx, ny, nz]: [usize; 3], [j, k]: [usize; 2], vectors: &mut [[f32; 3]]) {
    let on_edge = |index: usize, n: usize| n > 1 && (index == 0 || index == n - 1);
    if on_edge(j, ny) || on_edge(k, nz) {
        vectors.fill([0.0; 3]);
    } else if nx > 1 {
        vectors[0] = [0.0; 3];
        vectors[nx - 1] = [0.0; 3];
    }
}

/// Sets the displacements at the border to zero in the row (·, j, k) of a field. Returns the squared length of its
/// longest vector.
#[inline(always)]
fn end_row(shape: [usize; 3], at: [usize; 2], row: &mut [f32]) -> f32 {
    let vectors = row.as_chunks_mut().0;
    clear_border_of_row(shape, at, vectors);
    longest_squared(vectors)
}

/// Convolves a volume, whose voxels have `width` floats each, in place, with one symmetric kernel for each axis.
/// `kernels` has the weights of each kernel from the middle outwards. Before a row (·, j, k) is read,
/// `fill(scratch, [j, k], row)` may write it; each thread makes its own `scratch`. Rows are convolved within their
/// extents. When a row is done, `end([j, k], row)` may change it. Returns the largest number that `end` returns, at
/// least 0.
fn separable<S>(
    voxels: &mut [f32],
    width: usize,
    shape: [usize; 3],
    kernels: &[Vec<f32>; 3],
    scratch: impl Fn() -> S + Sync,
    fill: impl Fn(&mut S, [usize; 2], &mut [f32]) + Sync,
    end: impl Fn([usize; 2], &mut [f32]) -> f32 + Sync,
) -> f32 {
    let [nx, ny, nz] = shape;
    let row = nx * width;
    let slice = row * ny;
    let [radius_x, radius_y, radius_z] = kernels.each_ref().map(|kernel| kernel.len() - 1);
    // The volume is smoothed along x and y slice by slice, so that a slice stays in the cache.
    let margin = width * radius_x;
    let buffers = || (vec![0.0; row + 2 * margin], vec![0.0; slice], vec![Extent::NONE; ny], scratch());
    let mut extents = vec![Extent::NONE; ny * nz];
    let slices = voxels.par_chunks_mut(slice).zip(extents.par_chunks_mut(ny)).enumerate();
    slices.for_each_init(buffers, |(padded, along_x, extents_along_x, scratch), (k, (voxels, extents))| {
        widest(
            #[inline(always)]
            || {
                let rows = voxels.chunks_exact_mut(row).zip(along_x.chunks_exact_mut(row));
                for ((j, (source, target)), extent) in rows.enumerate().zip(&mut *extents_along_x) {
                    fill(scratch, [j, k], source);
                    *extent = Extent::of(source).widened(margin, row);
                    extent.clear_beyond(target);
                    pad(source, width, margin, padded);
                    let shifted = |by: usize| &padded[by..by + row];
                    let taps = |k: usize| (shifted(margin - k * width), shifted(margin + k * width));
                    weighted_sum(&kernels[0], *extent, taps, target);
                }
                for (j, (target, extent)) in voxels.chunks_exact_mut(row).zip(extents).enumerate() {
                    let at = |j: usize| &along_x[j * row..(j + 1) * row];
                    *extent = Extent::of_all(near(extents_along_x, j, radius_y));
                    weighted_sum(
                        &kernels[1],
                        *extent,
                        |k| (at(j.saturating_sub(k)), at((j + k).min(ny - 1))),
                        target,
                    );
                }
            },
        );
    });
    // The volume is smoothed along z in planes of one row from each slice, which do not depend on each other.
    let mut planes: Vec<Vec<&mut [f32]>> = (0..ny).map(|_| Vec::with_capacity(nz)).collect();
    for slice in voxels.chunks_exact_mut(slice) {
        planes.iter_mut().zip(slice.chunks_exact_mut(row)).for_each(|(plane, row)| plane.push(row));
    }
    let buffers = || (vec![0.0; nz * row], vec![Extent::NONE; nz]);
    let largest = planes.into_par_iter().enumerate().map_init(buffers, |(before, extents_before), (j, plane)| {
        widest(
            #[inline(always)]
            || {
                let mut largest = 0.0_f32;
                before.chunks_exact_mut(row).zip(&plane).for_each(|(before, row)| before.copy_from_slice(row));
                extents_before.iter_mut().enumerate().for_each(|(k, extent)| *extent = extents[k * ny + j]);
                let at = |k: usize| &before[k * row..(k + 1) * row];
                for (k, target) in plane.into_iter().enumerate() {
                    let extent = Extent::of_all(near(extents_before, k, radius_z));
                    weighted_sum(&kernels[2], extent, |t| (at(k.saturating_sub(t)), at((k + t).min(nz - 1))), target);
                    largest = largest.max(end([j, k], target));
                }
                largest
            },
        )
    });
    largest.reduce(|| 0.0, f32::max)
}

/// The extents of the rows at most `radius` from number `at`.
#[inline(always)]
fn near(extents: &[Extent], at: usize, radius: usize) -> &[Extent] {
    &extents[at.saturating_sub(radius)..(at + radius + 1).min(extents.len())]
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

/// Weighted sum of rows of numbers by a symmetric kernel, element by element within an extent: target = w₀·a₀ +
/// Σ_k w_k·(a_k + b_k). `taps(k)` gives the rows (a_k, b_k). Beyond the extent the target stays as it is.
#[inline(always)]
fn weighted_sum<'a>(
    weights: &[f32],
    extent: Extent,
    taps: impl Fn(usize) -> (&'a [f32], &'a [f32]),
    target: &mut [f32],
) {
    let taps = |k: usize| {
        let (a, b) = taps(k);
        (&a[extent.range()], &b[extent.range()])
    };
    let target = &mut target[extent.range()];
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
    for from in lanes::blocks(target.len(), LANES) {
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
