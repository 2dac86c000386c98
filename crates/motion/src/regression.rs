//! Least-squares fit of a volume's intensities by a sum of functions: powers of the reference's intensity, and the
//! changes of these powers under small motions.

use antsreg_kernels::{Backend, FitSums};
use nalgebra::{DMatrix, DVector};

use crate::points::{CONSTANT, Points, REFERENCE, powers};
use crate::{Cost, Error};

/// Sums for the least-squares fit of a volume by functions of the reference, over the reference's compared points that
/// lie inside the volume.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// For each pair of fitted functions: the sum of the products of their values, over the points inside the volume.
    matrix: DMatrix<f64>,
    /// For each fitted function: the sum of the products of its values with the volume's values, over the points inside
    /// the volume.
    vector: DVector<f64>,
    /// Sum of the volume's squared intensities over the compared points of the reference that lie inside the volume.
    square: f64,
    /// Number of the reference's compared points that lie inside the volume.
    pub count: f64,
}

impl Sums {
    /// Makes the sums for the least-squares fit of a volume by functions of the reference, over the points inside the
    /// volume. The device computed the products of the functions with the volume's values, and the products of two
    /// functions over the points outside the volume (`found`). The latter are subtracted from the products over all
    /// points (`points`).
    pub fn of<B: Backend>(points: &Points<B>, found: &FitSums) -> Sums {
        let mut matrix = points.products.clone();
        let pairs = (0..matrix.nrows()).flat_map(|a| (0..=a).map(move |b| (a, b)));
        pairs.zip(&found.outside).for_each(|(pair, outside)| matrix[pair] -= outside);
        matrix.fill_upper_triangle_with_lower_triangle();
        let vector = DVector::from_column_slice(&found.with_value);
        Sums { matrix, vector, square: found.square, count: found.inside }
    }

    /// The cost of the alignment that the options name: 1 − correlation; the mean squared difference in units of the
    /// reference's variance; or the share of the volume's variance that a curve over the reference's intensity does not
    /// explain.
    pub fn objective(&self, cost: Cost) -> f64 {
        let count = self.count;
        let (f, m) = (self.matrix[(REFERENCE, CONSTANT)] / count, self.vector[CONSTANT] / count);
        let of_volume = self.square / count - m * m;
        match cost {
            Cost::Lsq => (self.square - 2.0 * self.vector[REFERENCE] + self.matrix[(REFERENCE, REFERENCE)]) / count,
            Cost::Ncc => {
                let of_reference = self.matrix[(REFERENCE, REFERENCE)] / count - f * f;
                let common = self.vector[REFERENCE] / count - f * m;
                let scale = (of_reference * of_volume).sqrt();
                if scale > 0.0 { 1.0 - common / scale } else { 1.0 }
            }
            Cost::Cr | Cost::Nmi => match self.curve(cost) {
                Some(curve) if of_volume > 0.0 => {
                    let explained = curve.dot(&self.vector.rows(0, curve.len()));
                    (self.square - explained) / count / of_volume
                }
                _ => 1.0,
            },
        }
    }

    /// The curve over the reference's intensity that predicts the volume's intensities best if nothing has moved: the
    /// coefficient of each power of the reference's intensity.
    fn curve(&self, cost: Cost) -> Option<DVector<f64>> {
        let powers = powers(cost);
        let matrix = self.matrix.view((0, 0), (powers, powers)).into_owned();
        Some(matrix.cholesky()?.solve(&self.vector.rows(0, powers)))
    }

    /// Solves the least-squares fit: returns the motion parameters that make the reference most similar to the volume.
    ///
    /// # Errors
    /// Points that do not determine all degrees of freedom.
    pub fn solve(&self, cost: Cost) -> Result<Vec<f64>, Error> {
        let powers = powers(cost);
        let changes = (self.matrix.nrows() - powers) / (powers - 1);
        match cost {
            Cost::Ncc => {
                let fit = self.matrix.clone().cholesky().ok_or(Error::Undetermined)?.solve(&self.vector);
                // A negative factor of the reference's intensity means that the volume has inverted contrast. Then the
                // fit does not give a motion.
                let scale = fit[REFERENCE];
                if scale <= 0.0 {
                    return Err(Error::Undetermined);
                }
                Ok(fit.iter().skip(powers).map(|change| change / scale).collect())
            }
            Cost::Lsq => {
                let matrix = self.matrix.view((powers, powers), (changes, changes)).into_owned();
                let vector =
                    self.vector.rows(powers, changes) - self.matrix.view((powers, REFERENCE), (changes, 1)).column(0);
                let fit = matrix.cholesky().ok_or(Error::Undetermined)?.solve(&vector);
                Ok(fit.iter().copied().collect())
            }
            Cost::Cr | Cost::Nmi => {
                // The change of the curve over the reference's intensity under a small motion in one degree of freedom.
                // The curve is a sum of powers of the reference's intensity, so its change is the sum of the changes of
                // these powers, each multiplied by its coefficient.
                let curve = self.curve(cost).ok_or(Error::Undetermined)?;
                let mut weights = DMatrix::zeros(self.matrix.nrows(), powers + changes);
                (0..powers).for_each(|power| weights[(power, power)] = 1.0);
                for (n, power) in (0..powers).filter(|power| *power != CONSTANT).enumerate() {
                    (0..changes).for_each(|k| weights[(powers + n * changes + k, powers + k)] = curve[power]);
                }
                let matrix = weights.transpose() * &self.matrix * &weights;
                let fit = matrix.cholesky().ok_or(Error::Undetermined)?.solve(&(weights.transpose() * &self.vector));
                Ok(fit.iter().skip(powers).copied().collect())
            }
        }
    }
}
