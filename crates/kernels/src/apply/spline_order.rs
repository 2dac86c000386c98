//! B-spline interpolation of any order for images.

use rayon::prelude::*;

use super::sample::Sample;

/// The order of a B-spline, 0 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplineOrder(u8);

impl SplineOrder {
    /// The highest supported order of a B-spline.
    pub const HIGHEST: u8 = 5;
    /// The order of a cubic spline.
    pub const CUBIC: SplineOrder = SplineOrder(3);

    /// The B-spline order with this number; `None` above [`HIGHEST`](Self::HIGHEST).
    pub fn new(order: u8) -> Option<SplineOrder> {
        (order <= SplineOrder::HIGHEST).then_some(SplineOrder(order))
    }

    /// Poles of the recursive prefilter for this order (Unser, Aldroubi & Eden 1993).
    fn poles(self) -> Vec<f64> {
        match self.0 {
            2 => vec![8f64.sqrt() - 3.0],
            3 => vec![3f64.sqrt() - 2.0],
            4 => {
                let (a, b) = (664.0 - 438_976f64.sqrt(), 664.0 + 438_976f64.sqrt());
                vec![a.sqrt() + 304f64.sqrt() - 19.0, b.sqrt() - 304f64.sqrt() - 19.0]
            }
            5 => {
                let (a, b) = (67.5 - 4436.25f64.sqrt(), 67.5 + 4436.25f64.sqrt());
                vec![a.sqrt() + 26.25f64.sqrt() - 6.5, b.sqrt() - 26.25f64.sqrt() - 6.5]
            }
            _ => Vec::new(),
        }
    }
}

/// Interpolates an image by the spline of a given order through its voxels, mirrored about the outermost voxel
/// centres; ITK's `BSplineInterpolateImageFunction`.
pub struct SplineOfOrder {
    shape: [usize; 3],
    order: usize,
    coefficients: Vec<f64>,
}

impl SplineOfOrder {
    /// Computes the coefficients of the spline through all voxels of an image.
    pub fn through(shape: [usize; 3], voxels: &[f32], order: SplineOrder) -> SplineOfOrder {
        let mut coefficients: Vec<f64> = voxels.iter().map(|value| f64::from(*value)).collect();
        let [nx, ny, nz] = shape;
        let plane = nx * ny;
        for pole in order.poles() {
            coefficients.par_chunks_exact_mut(nx).for_each(|row| prefilter(row, nx, 1, pole));
            coefficients.par_chunks_exact_mut(plane).for_each(|slice| prefilter(slice, ny, nx, pole));
            prefilter(&mut coefficients, nz, plane, pole);
        }
        SplineOfOrder { shape, order: usize::from(order.0), coefficients }
    }

    /// The voxels along an axis that contribute to the value at `index`, mirrored into the axis, and their weights.
    fn taps(&self, index: f64, length: usize) -> [(usize, f64); TAPS] {
        let first = if self.order % 2 == 1 { index.floor() } else { (index + 0.5).floor() } - (self.order / 2) as f64;
        std::array::from_fn(|tap| {
            let at = first + tap as f64;
            let weight = if tap <= self.order { centred(self.order, index - at) } else { 0.0 };
            (mirror(at as i64, length), weight)
        })
    }
}

/// Largest number of voxels along an axis that contribute to an interpolated value.
const TAPS: usize = SplineOrder::HIGHEST as usize + 1;

impl Sample for SplineOfOrder {
    type Value = f32;

    fn at(&self, index: [f64; 3]) -> f32 {
        let [nx, ny, _] = self.shape;
        let taps: [_; 3] = std::array::from_fn(|axis| self.taps(index[axis], self.shape[axis]));
        let used = |axis: usize| &taps[axis][..=self.order];
        let mut sum = 0.0;
        for (z, wz) in used(2) {
            for (y, wy) in used(1) {
                let row = &self.coefficients[(z * ny + y) * nx..][..nx];
                sum += wz * wy * used(0).iter().map(|(x, wx)| wx * row[*x]).sum::<f64>();
            }
        }
        sum as f32
    }
}

/// The centred B-spline function of an order within its support, −(order + 1)/2…(order + 1)/2, as a sum of truncated
/// powers.
fn centred(order: usize, x: f64) -> f64 {
    let half = (order + 1) as f64 / 2.0;
    if order == 0 {
        // The nearest voxel has the whole weight, also half-way between two voxels.
        return 1.0;
    }
    let (mut sum, mut binomial) = (0.0, 1.0);
    // The power after these begins at the end of the support.
    for k in 0..=order {
        sum += binomial * (x + half - k as f64).max(0.0).powi(order as i32);
        binomial *= -((order + 1 - k) as f64) / (k + 1) as f64;
    }
    sum / (1..=order).product::<usize>() as f64
}

/// Index within a signal for the sample number `k`, which may be negative or beyond the end: the signal is mirrored
/// repeatedly about its first and last samples.
fn mirror(k: i64, length: usize) -> usize {
    if length == 1 {
        return 0;
    }
    let period = 2 * (length as i64 - 1);
    let k = k.rem_euclid(period);
    k.min(period - k) as usize
}

/// Factor of the samples for one pole, with which the filter leaves a constant unchanged.
fn gain(pole: f64) -> f64 {
    (1.0 - pole) * (1.0 - 1.0 / pole)
}

/// The recursive filter that computes spline coefficients, for one of its poles: a causal and an anticausal recursion.
/// It filters `width` interleaved lines of `length` samples, mirrored about their first and last samples.
fn prefilter(lines: &mut [f64], length: usize, width: usize, pole: f64) {
    if length == 1 {
        return;
    }
    let gain = gain(pole);
    lines.iter_mut().for_each(|value| *value *= gain);
    // The filter that computes the spline's coefficients begins with a sum of samples times powers of the pole. This is
    // the number of terms after which these powers are below double precision.
    let horizon = (f64::EPSILON.ln() / pole.abs().ln()).ceil() as usize;
    for x in 0..width {
        let start: f64 =
            (0..horizon).rev().fold(0.0, |sum, k| lines[mirror(k as i64, length) * width + x] + pole * sum);
        lines[x] = start;
    }
    for k in 1..length {
        let (before, here) = lines[(k - 1) * width..].split_at_mut(width);
        here[..width].iter_mut().zip(before).for_each(|(here, before)| *here += pole * *before);
    }
    let last = (length - 1) * width;
    let (before, here) = lines[last - width..].split_at_mut(width);
    let end = pole / (pole * pole - 1.0);
    here.iter_mut().zip(before).for_each(|(here, before)| *here = end * (*here + pole * *before));
    for k in (0..length - 1).rev() {
        let (here, after) = lines[k * width..].split_at_mut(width);
        here.iter_mut().zip(&after[..width]).for_each(|(here, after)| *here = pole * (*after - *here));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    /// The expected B-spline function of an order, by recursion from the box function.
    fn beta(order: usize, x: f64) -> f64 {
        let n = order as f64;
        match order {
            0 => f64::from(u8::from((-0.5..0.5).contains(&-x))),
            _ => {
                let half = (n + 1.0) / 2.0;
                ((half + x) * beta(order - 1, x + 0.5) + (half - x) * beta(order - 1, x - 0.5)) / n
            }
        }
    }

    /// Weight of each voxel of an axis in the value at `index` of the spline of this order through all voxels. The
    /// B-spline function at the distances between voxels, with mirrored ends, forms a matrix. The inverse of this
    /// matrix maps voxel values to spline coefficients.
    fn axis_weights(order: usize, length: usize, index: f64) -> Vec<f64> {
        let mut basis = nalgebra::DMatrix::zeros(length, length);
        let mut at_index = nalgebra::DVector::zeros(length);
        for k in -6..length as i64 + 6 {
            at_index[mirror(k, length)] += beta(order, index - k as f64);
            for row in 0..length {
                basis[(row, mirror(k, length))] += beta(order, row as f64 - k as f64);
            }
        }
        basis.transpose().lu().solve(&at_index).unwrap().iter().copied().collect()
    }

    #[test]
    fn is_the_mirrored_spline_through_the_voxels() {
        let shape = [9, 7, 5];
        let moving = noise_volume(oblique_grid(shape, 1), 7);
        let onto = oblique_grid([7, 5, 9], 2);
        let chain = &chains(&onto)[1];
        for order in 0..=SplineOrder::HIGHEST {
            let how = Interpolation::BSplineOfOrder(SplineOrder::new(order).unwrap());
            let moved = resample(&moving, &onto, chain, how, -5.0);
            let mut inside = 0;
            for (index, found) in slow_indices(&onto, chain, &moving.grid).into_iter().zip(&moved.voxels) {
                let expected = index.map_or(-5.0, |index| {
                    inside += 1;
                    let w: [Vec<f64>; 3] =
                        std::array::from_fn(|axis| axis_weights(order.into(), shape[axis], index[axis]));
                    let weight = |n: usize| w[0][n % 9] * w[1][n / 9 % 7] * w[2][n / 63];
                    moving.voxels.iter().enumerate().map(|(n, v)| weight(n) * f64::from(*v)).sum()
                });
                // Tolerance: the interpolation is in single precision, for values up to about 1000.
                assert!((expected - f64::from(*found)).abs() < 1e-3, "order {order}: {found}, expected {expected}");
            }
            assert!(inside > 50);
        }
    }

    #[test]
    fn orders_beyond_five_are_refused() {
        assert_eq!(SplineOrder::new(6), None);
        assert_eq!(SplineOrder::new(3), Some(SplineOrder::CUBIC));
    }

    #[test]
    fn order_zero_takes_a_voxel_even_half_way_between_two() {
        let spline = SplineOfOrder::through([3, 1, 1], &[1.0, 2.0, 4.0], SplineOrder(0));
        // Half-way, ITK takes the voxel with the higher index.
        for (index, expected) in [(0.0, 1.0), (0.4, 1.0), (0.5, 2.0), (1.5, 4.0), (-0.5, 1.0), (2.4, 4.0)] {
            assert_eq!(spline.at([index, 0.0, 0.0]), expected, "at {index}");
        }
        let just_below = spline.at([0.5f64.next_down(), 0.0, 0.0]);
        assert!(just_below == 1.0 || just_below == 2.0, "{just_below}");
    }

    #[test]
    fn coefficients_give_the_voxels_back_in_double_precision() {
        let shape = [12, 1, 1];
        let voxels = noise_volume(oblique_grid(shape, 1), 7).voxels;
        for order in 2..=SplineOrder::HIGHEST {
            let SplineOfOrder { coefficients, .. } = SplineOfOrder::through(shape, &voxels, SplineOrder(order));
            for (at, value) in voxels.iter().enumerate() {
                let term = |k: i64| beta(order.into(), at as f64 - k as f64) * coefficients[mirror(k, 12)];
                let found: f64 = (at as i64 - 3..=at as i64 + 3).map(term).sum();
                // Tolerance: coefficients of up to about 10⁴ in double precision.
                assert!((found - f64::from(*value)).abs() < 1e-10, "order {order}: {found}, expected {value}");
            }
        }
    }
}
