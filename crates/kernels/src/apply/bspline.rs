//! Cubic B-spline interpolation (Unser, Aldroubi & Eden 1993; Thévenaz, Blu & Unser 2000).

use antsreg_core::Volume;
use rayon::prelude::*;

use super::resample::Sample;

/// Pole of the cubic spline's recursive prefilter, √3 − 2.
const POLE: f32 = -0.267_949_2;
/// Terms after which powers of the pole are below single precision.
const HORIZON: usize = 16;

/// Reads an image through the cubic spline that passes through its voxels, mirrored about the outermost centres; ITK's
/// `BSplineInterpolateImageFunction` of order 3.
pub struct BSpline {
    shape: [usize; 3],
    coefficients: Vec<f32>,
}

impl BSpline {
    /// Finds the coefficients of the spline through all voxels.
    pub fn through(volume: &Volume) -> BSpline {
        let [nx, ny, nz] = volume.grid.shape;
        let plane = nx * ny;
        let mut coefficients = volume.voxels.clone();
        coefficients.par_chunks_exact_mut(nx).for_each(|row| prefilter(row, nx, 1));
        coefficients.par_chunks_exact_mut(plane).for_each(|slice| prefilter(slice, ny, nx));
        // Along z the lines of one (·, y) row are brought together, filtered and put back.
        let mut sheets = vec![0.0; coefficients.len()];
        sheets.par_chunks_exact_mut(nx * nz).enumerate().for_each(|(y, sheet)| {
            for (z, row) in sheet.chunks_exact_mut(nx).enumerate() {
                row.copy_from_slice(&coefficients[z * plane + y * nx..][..nx]);
            }
            prefilter(sheet, nz, nx);
        });
        coefficients.par_chunks_exact_mut(plane).enumerate().for_each(|(z, slice)| {
            for (y, row) in slice.chunks_exact_mut(nx).enumerate() {
                row.copy_from_slice(&sheets[y * nx * nz + z * nx..][..nx]);
            }
        });
        BSpline { shape: volume.grid.shape, coefficients }
    }
}

/// Turns `width` interleaved lines of `length` samples into spline coefficients, in place: a causal and an anticausal
/// recursion, the signal mirrored about its first and last samples.
fn prefilter(lines: &mut [f32], length: usize, width: usize) {
    if length == 1 {
        return;
    }
    const GAIN: f32 = (1.0 - POLE) * (1.0 - 1.0 / POLE);
    lines.iter_mut().for_each(|value| *value *= GAIN);
    // First causal coefficient: Σ_k pole^k · s(k) over the mirrored signal, cut where the power vanishes.
    for x in 0..width {
        let period = 2 * (length - 1);
        let mirrored = |k: usize| {
            let k = k % period;
            f64::from(lines[if k < length { k } else { period - k } * width + x])
        };
        let sum = (0..2 * HORIZON).rev().fold(0.0, |sum, k| mirrored(k) + f64::from(POLE) * sum);
        lines[x] = sum as f32;
    }
    for k in 1..length {
        let (before, here) = lines[(k - 1) * width..].split_at_mut(width);
        here[..width].iter_mut().zip(before).for_each(|(here, before)| *here += POLE * *before);
    }
    let last = (length - 1) * width;
    let (before, here) = lines[last - width..].split_at_mut(width);
    const END: f32 = POLE / (POLE * POLE - 1.0);
    here.iter_mut().zip(before).for_each(|(here, before)| *here = END * (*here + POLE * *before));
    for k in (0..length - 1).rev() {
        let (here, after) = lines[k * width..].split_at_mut(width);
        here.iter_mut().zip(&after[..width]).for_each(|(here, after)| *here = POLE * (*after - *here));
    }
}

/// The four voxels along one axis that matter at `index`, mirrored into the axis, and their weights.
#[inline]
fn taps(index: f64, length: usize) -> ([usize; 4], [f32; 4]) {
    let lower = index.floor();
    let w = (index - lower) as f32;
    let v = 1.0 - w;
    let weights =
        [v * v * v / 6.0, 2.0 / 3.0 - 0.5 * w * w * (2.0 - w), 2.0 / 3.0 - 0.5 * v * v * (2.0 - v), w * w * w / 6.0];
    let first = lower as isize - 1;
    let end = length as isize - 1;
    let at = std::array::from_fn(|n| {
        let tap = (first + n as isize).abs();
        let tap = if tap > end { 2 * end - tap } else { tap };
        // An axis of two voxels needs one more reflection, one of a single voxel has but that.
        tap.abs().min(end) as usize
    });
    (at, weights)
}

impl Sample for BSpline {
    type Value = f32;

    #[inline]
    fn at(&self, index: [f64; 3]) -> f32 {
        let [nx, ny, _] = self.shape;
        let [(i, wi), (j, wj), (k, wk)] = std::array::from_fn(|axis| taps(index[axis], self.shape[axis]));
        let mut sum = 0.0;
        for (k, wk) in k.into_iter().zip(wk) {
            let mut slice_sum = 0.0;
            for (j, wj) in j.into_iter().zip(wj) {
                let row = &self.coefficients[(k * ny + j) * nx..][..nx];
                slice_sum += wj * (wi[0] * row[i[0]] + wi[1] * row[i[1]] + wi[2] * row[i[2]] + wi[3] * row[i[3]]);
            }
            sum += wk * slice_sum;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    /// The centred cubic B-spline.
    fn beta(x: f64) -> f64 {
        match x.abs() {
            x if x < 1.0 => 2.0 / 3.0 - x * x + x * x * x / 2.0,
            x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
            _ => 0.0,
        }
    }

    /// Position `k` of a signal mirrored without end about its first and last samples.
    fn mirror(k: i64, length: usize) -> usize {
        if length == 1 {
            return 0;
        }
        let period = 2 * (length as i64 - 1);
        let k = k.rem_euclid(period);
        k.min(period - k) as usize
    }

    /// Weight of each voxel of one axis at `index` when the spline passes through all voxels: β's samples, with mirrored
    /// ends, form a matrix; its inverse turns values into coefficients.
    fn axis_weights(length: usize, index: f64) -> Vec<f64> {
        let mut basis = nalgebra::DMatrix::zeros(length, length);
        let mut at_index = nalgebra::DVector::zeros(length);
        for k in -4..length as i64 + 4 {
            at_index[mirror(k, length)] += beta(index - k as f64);
            for row in 0..length {
                basis[(row, mirror(k, length))] += beta(row as f64 - k as f64);
            }
        }
        basis.transpose().lu().solve(&at_index).unwrap().iter().copied().collect()
    }

    #[test]
    fn is_the_mirrored_spline_through_the_voxels() {
        for shape in [[9, 7, 5], [1, 8, 3], [6, 2, 4]] {
            let moving = noise_volume(oblique_grid(shape, 1), 7);
            let onto = oblique_grid([7, 5, 9], 2);
            for chain in chains(&onto) {
                let moved = resample(&moving, &onto, &chain, Interpolation::BSpline, -5.0);
                for (index, found) in slow_indices(&onto, &chain, &moving.grid).into_iter().zip(&moved.voxels) {
                    let expected = index.map_or(-5.0, |index| {
                        let w: [Vec<f64>; 3] = std::array::from_fn(|axis| axis_weights(shape[axis], index[axis]));
                        let [nx, ny, _] = shape;
                        let weight = |n: usize| w[0][n % nx] * w[1][n / nx % ny] * w[2][n / (nx * ny)];
                        moving.voxels.iter().enumerate().map(|(n, v)| weight(n) * f64::from(*v)).sum()
                    });
                    // Single precision: three recursions whose coefficients reach some 10⁴, and 64 products.
                    assert!((expected - f64::from(*found)).abs() < 2e-2, "{found}, expected {expected}");
                }
            }
        }
    }

    #[test]
    fn passes_through_the_voxels() {
        let moving = noise_volume(oblique_grid([23, 1, 9], 1), 7);
        let spline = BSpline::through(&moving);
        for (n, value) in moving.voxels.iter().enumerate() {
            let found = spline.at([(n % 23) as f64, 0.0, (n / 23) as f64]);
            assert!((found - value).abs() < 5e-3, "{found}, expected {value}");
        }
    }
}
