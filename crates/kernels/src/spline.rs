//! The cubic spline through an image (Unser, Aldroubi & Eden 1993; Thévenaz, Blu & Unser 2000): its coefficients, and
//! its value between voxels. The image is mirrored about its outermost voxel centres.

use rayon::prelude::*;

/// Pole of the recursive prefilter of the cubic spline, √3 − 2.
const POLE: f32 = -0.267_949_2;
/// The filter that computes the spline's coefficients begins with a sum of samples times powers of the pole. This is
/// the number of terms after which these powers are far below single precision.
const HORIZON: usize = 32;

/// The coefficients of the spline through all voxels of an image, x fastest.
pub(crate) fn coefficients([nx, ny, nz]: [usize; 3], voxels: &[f32]) -> Vec<f32> {
    let plane = nx * ny;
    let mut coefficients = voxels.to_vec();
    coefficients.par_chunks_exact_mut(nx).for_each(|row| prefilter(row, nx, 1));
    coefficients.par_chunks_exact_mut(plane).for_each(|slice| prefilter(slice, ny, nx));
    // The filter along z works on planes of constant y: each plane is copied to a buffer, filtered along z and copied
    // back.
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
    coefficients
}

/// Converts `width` interleaved lines of `length` samples to spline coefficients, in place: a causal and an
/// anticausal recursion, with the signal mirrored about its first and last samples.
fn prefilter(lines: &mut [f32], length: usize, width: usize) {
    if length == 1 {
        return;
    }
    const GAIN: f32 = (1.0 - POLE) * (1.0 - 1.0 / POLE);
    lines.iter_mut().for_each(|value| *value *= GAIN);
    // First causal coefficient: Σ_k pole^k · s(k) over the mirrored signal s, cut off where pole^k is negligible.
    for x in 0..width {
        let period = 2 * (length - 1);
        let mirrored = |k: usize| {
            let k = k % period;
            f64::from(lines[if k < length { k } else { period - k } * width + x])
        };
        let sum = (0..HORIZON).rev().fold(0.0, |sum, k| mirrored(k) + f64::from(POLE) * sum);
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

/// The four coefficients along one axis that contribute at `index`: their indices, mirrored into the axis, and their
/// weights.
#[inline(always)]
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
        // On an axis of two voxels, an index outside the axis may need three reflections, and this is the third. On an
        // axis of one voxel, every index becomes 0.
        tap.abs().min(end) as usize
    });
    (at, weights)
}

/// The value of the spline with these coefficients at a fractional index at most half a voxel outside the volume.
#[inline(always)]
pub(crate) fn value(shape: [usize; 3], coefficients: &[f32], index: [f64; 3]) -> f32 {
    let [nx, ny, _] = shape;
    let [(i, wi), (j, wj), (k, wk)] = std::array::from_fn(|axis| taps(index[axis], shape[axis]));
    let mut sum = 0.0;
    for (k, wk) in k.into_iter().zip(wk) {
        let mut slice_sum = 0.0;
        for (j, wj) in j.into_iter().zip(wj) {
            let row = &coefficients[(k * ny + j) * nx..][..nx];
            slice_sum += wj * (wi[0] * row[i[0]] + wi[1] * row[i[1]] + wi[2] * row[i[2]] + wi[3] * row[i[3]]);
        }
        sum += wk * slice_sum;
    }
    sum
}

/// The derivatives of the spline along the three axes, per voxel, at a fractional index at most half a voxel outside
/// the volume.
pub(crate) fn gradient([nx, ny, nz]: [usize; 3], coefficients: &[f32], index: [f64; 3]) -> [f32; 3] {
    let lengths = [nx, ny, nz];
    let [x, y, z] = std::array::from_fn(|axis| {
        let (at, weights) = taps(index[axis], lengths[axis]);
        (at, weights, slopes(index[axis]))
    });
    let mut sums = [0.0; 3];
    for n in 0..4 {
        for m in 0..4 {
            let row = &coefficients[(z.0[n] * ny + y.0[m]) * nx..][..nx];
            let along = |weights: [f32; 4]| (0..4).map(|l| weights[l] * row[x.0[l]]).sum::<f32>();
            let (value, slope) = (along(x.1), along(x.2));
            sums[0] += z.1[n] * y.1[m] * slope;
            sums[1] += z.1[n] * y.2[m] * value;
            sums[2] += z.2[n] * y.1[m] * value;
        }
    }
    sums
}

/// The derivatives of the four B-spline weights that [`taps`] returns, with respect to the index.
fn slopes(index: f64) -> [f32; 4] {
    let w = (index - index.floor()) as f32;
    let v = 1.0 - w;
    [-0.5 * v * v, 1.5 * w * w - 2.0 * w, 2.0 * v - 1.5 * v * v, 0.5 * w * w]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_value() {
        let shape = [7, 6, 5];
        let voxels: Vec<f32> =
            (0..210u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 22) as f32 / 512.0 - 1.0).collect();
        let coefficients = coefficients(shape, &voxels);
        for index in [[2.3, 3.6, 1.1], [3.0, 2.0, 2.0], [0.4, 4.7, 3.9]] {
            let found = gradient(shape, &coefficients, index);
            for axis in 0..3 {
                const STEP: f64 = 0.01;
                let moved = |step: f64| {
                    let mut index = index;
                    index[axis] += step;
                    value(shape, &coefficients, index)
                };
                let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP as f32);
                // Tolerance: the expected derivatives are differences of values near 1 in single precision, divided by
                // 0.02.
                assert!((found[axis] - expected).abs() < 2e-3, "{index:?}, axis {axis}: {} {expected}", found[axis]);
            }
        }
    }
}
