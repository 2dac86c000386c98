//! Cubic B-spline interpolation of images.

use super::sample::Sample;
use crate::spline;

/// Interpolates an image by the cubic spline through its voxels, mirrored about the outermost voxel centres; ITK's
/// `BSplineInterpolateImageFunction` of order 3.
pub struct BSpline {
    shape: [usize; 3],
    coefficients: Vec<f32>,
}

impl BSpline {
    /// Computes the coefficients of the spline through all voxels of an image.
    pub fn through(shape: [usize; 3], voxels: &[f32]) -> BSpline {
        BSpline { shape, coefficients: spline::coefficients(shape, voxels) }
    }

    /// The interpolated value at a fractional voxel index that lies at most half a voxel outside the image.
    #[inline]
    pub fn value(&self, index: [f64; 3]) -> f32 {
        spline::value(self.shape, &self.coefficients, index)
    }

    /// The derivatives of the value along the three axes, per voxel, at a fractional voxel index that lies at most half
    /// a voxel outside the image.
    pub fn gradient(&self, index: [f64; 3]) -> [f32; 3] {
        spline::gradient(self.shape, &self.coefficients, index)
    }
}

impl Sample for BSpline {
    type Value = f32;

    #[inline]
    fn at(&self, index: [f64; 3]) -> f32 {
        self.value(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    /// The centred cubic B-spline function.
    fn beta(x: f64) -> f64 {
        match x.abs() {
            x if x < 1.0 => 2.0 / 3.0 - x * x + x * x * x / 2.0,
            x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
            _ => 0.0,
        }
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

    /// Weight of each voxel of an axis in the value at `index` of the cubic spline through all voxels. The cubic
    /// B-spline function at the distances between voxels, with mirrored ends, forms a matrix. The inverse of this
    /// matrix maps voxel values to spline coefficients.
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
                    // Tolerance: the three recursions, with coefficients up to about 10⁴, and the 64 products are in
                    // single precision.
                    assert!((expected - f64::from(*found)).abs() < 2e-2, "{found}, expected {expected}");
                }
            }
        }
    }

    #[test]
    fn passes_through_the_voxels() {
        let moving = noise_volume(oblique_grid([23, 1, 9], 1), 7);
        let spline = BSpline::through([23, 1, 9], &moving.voxels);
        for (n, value) in moving.voxels.iter().enumerate() {
            let found = spline.at([(n % 23) as f64, 0.0, (n / 23) as f64]);
            assert!((found - value).abs() < 5e-3, "{found}, expected {value}");
        }
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_spline_through_the_voxels() {
        let shape = [5, 4, 6];
        let moving = noise_volume(oblique_grid(shape, 1), 7);
        let spline = BSpline::through(shape, &moving.voxels);
        let value = |index: [f64; 3]| -> f64 {
            let w: [Vec<f64>; 3] = std::array::from_fn(|axis| axis_weights(shape[axis], index[axis]));
            let weight = |n: usize| w[0][n % 5] * w[1][n / 5 % 4] * w[2][n / 20];
            moving.voxels.iter().enumerate().map(|(n, v)| weight(n) * f64::from(*v)).sum()
        };
        for index in [[2.3, 1.6, 3.1], [1.0, 2.0, 4.0], [0.2, 2.7, 4.9]] {
            for (axis, found) in spline.gradient(index).into_iter().enumerate() {
                let moved = |step: f64| {
                    let mut index = index;
                    index[axis] += step;
                    value(index)
                };
                let expected = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                // Tolerance: coefficients of up to about 10⁴ and 64 products are in single precision.
                assert!((f64::from(found) - expected).abs() < 5e-2, "{found}, expected {expected}");
            }
        }
    }
}
