//! Gaussian distributions of the intensities of classes.

use nalgebra::{DMatrix, DVector};

use crate::Error;

/// Least determinant of a covariance, as in ANTs.
const LEAST_DETERMINANT: f64 = 1e-6;

/// A Gaussian distribution of one or more intensities.
#[derive(Debug, Clone)]
pub struct Gaussian {
    mean: DVector<f64>,
    inverse: DMatrix<f64>,
    factor: f64,
}

impl Gaussian {
    /// The distribution with the weighted mean and the unbiased weighted covariance of samples: Σ w·d·dᵀ / (W − Σw²/W)
    /// with W = Σw. `sample(n, k)` is the k-th of `intensities` intensities of sample n.
    ///
    /// # Errors
    /// The covariance is singular.
    pub fn of(
        class: usize,
        weights: &[f32],
        intensities: usize,
        sample: impl Fn(usize, usize) -> f64,
    ) -> Result<Gaussian, Error> {
        let singular = Error::NoVariance { class };
        let (mut total, mut squares) = (0.0, 0.0);
        let mut mean = DVector::zeros(intensities);
        for (n, weight) in weights.iter().map(|weight| f64::from(*weight)).enumerate() {
            total += weight;
            squares += weight * weight;
            (0..intensities).for_each(|k| mean[k] += weight * sample(n, k));
        }
        mean /= total;
        let mut covariance = DMatrix::zeros(intensities, intensities);
        for (n, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let apart = DVector::from_fn(intensities, |k, _| sample(n, k) - mean[k]);
            covariance += f64::from(*weight) * &apart * apart.transpose();
        }
        covariance /= total - squares / total;
        let determinant = covariance.determinant();
        if determinant.is_nan() || determinant < LEAST_DETERMINANT {
            return Err(singular);
        }
        let inverse = covariance.try_inverse().ok_or(singular)?;
        let factor = 1.0 / (std::f64::consts::TAU.powi(intensities as i32) * determinant).sqrt();
        Ok(Gaussian { mean, inverse, factor })
    }

    /// The density at a sample, whose intensities `of(k)` returns.
    pub fn density(&self, of: impl Fn(usize) -> f64) -> f64 {
        let count = self.mean.len();
        let mut square = 0.0;
        for row in 0..count {
            let apart = of(row) - self.mean[row];
            for column in 0..count {
                square += apart * self.inverse[(row, column)] * (of(column) - self.mean[column]);
            }
        }
        self.factor * (-0.5 * square).exp()
    }
}
