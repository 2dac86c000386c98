//! Sums for the least-squares fit of volumes by functions that are known at reference points. Points are processed in
//! chunks, whose sums are added in order.

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use crate::cpu::image::Image;
use crate::cpu::widest;
use crate::{Error, FitRule, FitSums, spline};

/// Number of reference points of a chunk. One task computes the sums over one chunk. The CUDA kernel `cu/fit_sums.cu`
/// has the same chunks and adds in the same order.
const CHUNK: usize = 2048;
/// Number of reference points of a run, which is a part of a chunk. A sum over a chunk is computed run by run, and the
/// sums of the runs are added in double precision.
const RUN: usize = 512;
/// Number of partial sums in single precision for a run of reference points. Each partial sum has every `LANES`-th
/// term.
const LANES: usize = 8;

/// Computes the sums for least-squares fits of volumes by functions that are known at reference points, as defined by
/// [`Similarity::fit_sums`](crate::ops::Similarity::fit_sums).
pub(in crate::cpu) fn fit_sums(
    points: &Image,
    volumes: &[&Image],
    rule: &FitRule,
    at: &[(usize, AffineTransform)],
) -> Result<Vec<FitSums>, Error> {
    let (count, functions) = FitSums::check(points.shape, volumes.iter().map(|volume| volume.shape), at)?;
    let (chunks, rows) = (count.div_ceil(CHUNK).max(1), FitSums::rows(functions));
    let pieces: Vec<Vec<f64>> = (0..chunks * at.len())
        .into_par_iter()
        .map(|task| {
            let ((volume, map), chunk) = (&at[task / chunks], task % chunks);
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
            widest(
                #[inline(always)]
                || piece(points, volumes[*volume], rule, map, range),
            )
        })
        .collect();
    let total = |pieces: &[Vec<f64>]| {
        let sums: Vec<f64> = (0..rows).map(|row| pieces.iter().map(|piece| piece[row]).sum()).collect();
        FitSums::of(&sums, functions)
    };
    Ok(pieces.chunks_exact(chunks).map(total).collect())
}

/// Computes the sums [`FitSums`] of one volume and one map over a range of reference points.
#[inline(always)]
fn piece(
    points: &Image,
    volume: &Image,
    rule: &FitRule,
    map: &AffineTransform,
    range: std::ops::Range<usize>,
) -> Vec<f64> {
    let [count, all_rows, _] = points.shape;
    let row = |n: usize| &points.voxels[n * count..][range.clone()];
    let matrix: [[f32; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| map.matrix[(i, j)] as f32));
    let shift: [f32; 3] = std::array::from_fn(|i| map.translation[i] as f32);
    let margin = rule.margin.map(|n| n as f32);
    let far: [f32; 3] = std::array::from_fn(|axis| (volume.shape[axis] as f32 - 1.0) - margin[axis]);
    let [x, y, z] = [row(0), row(1), row(2)];
    let mut outside = Vec::new();
    let values: Vec<f32> = (0..range.len())
        .map(|n| {
            let at: [f32; 3] = std::array::from_fn(|i| {
                let [a, b, c] = matrix[i];
                a * x[n] + (b * y[n] + (c * z[n] + shift[i]))
            });
            if (0..3).all(|axis| at[axis] >= margin[axis] && at[axis] <= far[axis]) {
                (spline::value(volume.shape, &volume.voxels, at.map(f64::from)) - rule.origin) * rule.scale
            } else {
                outside.push(n);
                0.0
            }
        })
        .collect();
    let mut sums = vec![(range.len() - outside.len()) as f64, dot(&values, &values)];
    let functions: Vec<&[f32]> = (3..all_rows).map(row).collect();
    sums.extend(functions.iter().map(|function| dot(function, &values)));
    for (n, first) in functions.iter().enumerate() {
        for second in &functions[..=n] {
            let of_run =
                |run: &[usize]| -> f64 { run.iter().map(|n| f64::from(first[*n]) * f64::from(second[*n])).sum() };
            sums.push(outside.chunk_by(|a, b| a / RUN == b / RUN).map(of_run).sum());
        }
    }
    sums
}

/// Dot product Σa·b over reference points. Each run of `RUN` successive points is summed in eight partial sums in
/// single precision. These are added up in double precision.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let of_run = |a: &[f32], b: &[f32]| -> f64 {
        let mut sums = [0.0f32; LANES];
        let (a, rest_a) = a.as_chunks::<LANES>();
        let (b, rest_b) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
        }
        sums.iter_mut().zip(rest_a.iter().zip(rest_b)).for_each(|(sum, (a, b))| *sum += a * b);
        sums.iter().map(|sum| f64::from(*sum)).sum()
    };
    a.chunks(RUN).zip(b.chunks(RUN)).map(|(a, b)| of_run(a, b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_outside_the_volume_are_added_run_by_run() {
        // All points are outside. The first run has one product, 2⁶⁰, and the second run has 256 products of 1. To 2⁶⁰,
        // each single 1 would be lost to rounding, but their sum is not.
        let count = 2 * RUN;
        let mut rows = vec![-1.0_f32; 3 * count];
        rows.extend((0..count).map(|n| match n {
            0 => 1_073_741_824.0,
            n if (RUN..RUN + 256).contains(&n) => 1.0,
            _ => 0.0,
        }));
        let points = Image::from_voxels([count, 4, 1], &rows).expect("four rows");
        let rule = FitRule { margin: [0; 3], origin: 0.0, scale: 1.0 };
        let sums = fit_sums(&points, &[&Image::zeros([4; 3])], &rule, &[(0, AffineTransform::identity())]);
        assert_eq!(sums.expect("sums")[0].outside, [1_152_921_504_606_846_976.0 + 256.0]);
    }
}
