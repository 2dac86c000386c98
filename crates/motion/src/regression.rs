//! The fit of a volume by functions of the reference.

use antsreg_core::AffineTransform;
use antsreg_kernels::apply::BSpline;
use nalgebra::{DMatrix, DVector, Point3};

use crate::points::Points;
use crate::{Cost, Error};

/// Points whose sums are made together, before they are added to the others.
const CHUNK: usize = 1024;
/// Functions that there are at most: the reference, 1, and twelve changes.
const MOST: usize = 14;

/// Sums over the points that lie inside the volume, of products of the functions and of the volume's values.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// Of function times function.
    matrix: DMatrix<f64>,
    /// Of function times value.
    vector: DVector<f64>,
    /// Of squared values.
    square: f64,
    /// Points that lie inside.
    pub count: usize,
}

/// The functions' places: the reference and the constant come first.
const REFERENCE: usize = 0;
const CONSTANT: usize = 1;

impl Sums {
    /// Samples a volume at the points, mapped by `to_voxel` from RAS mm of the reference to voxel indices of the volume. Samples
    /// nearer to the volume's border than `margin` voxels are left out.
    pub fn new(
        points: &Points,
        volume: &BSpline,
        shape: [usize; 3],
        to_voxel: &AffineTransform,
        margin: [usize; 3],
    ) -> Sums {
        let n = points.count;
        let mut sums = Sums { matrix: DMatrix::zeros(n, n), vector: DVector::zeros(n), square: 0.0, count: 0 };
        let range: [_; 3] = std::array::from_fn(|axis| margin[axis] as f64..=(shape[axis] - 1 - margin[axis]) as f64);
        let [mean, deviation] = points.normal;
        for (positions, functions) in points.positions.chunks(CHUNK).zip(points.functions.chunks(CHUNK * n)) {
            let mut products = [[0.0f64; MOST]; MOST];
            let mut with_value = [0.0f64; MOST];
            for (position, functions) in positions.iter().zip(functions.chunks_exact(n)) {
                let Point3 { coords } = to_voxel.apply(position);
                let index: [f64; 3] = coords.into();
                if !(0..3).all(|axis| range[axis].contains(&index[axis])) {
                    continue;
                }
                let value = f64::from((volume.value(index) - mean) / deviation);
                sums.count += 1;
                sums.square += value * value;
                for a in 0..n {
                    let function = f64::from(functions[a]);
                    with_value[a] += function * value;
                    for b in 0..=a {
                        products[a][b] += function * f64::from(functions[b]);
                    }
                }
            }
            for a in 0..n {
                sums.vector[a] += with_value[a];
                for b in 0..=a {
                    sums.matrix[(a, b)] += products[a][b];
                }
            }
        }
        sums.matrix.fill_upper_triangle_with_lower_triangle();
        sums
    }

    /// What is minimised: 1 less the correlation, or the mean squared difference in units of the reference's variance.
    pub fn objective(&self, cost: Cost) -> f64 {
        let count = self.count as f64;
        let (f, m) = (self.matrix[(REFERENCE, CONSTANT)] / count, self.vector[CONSTANT] / count);
        match cost {
            Cost::Lsq => (self.square - 2.0 * self.vector[REFERENCE] + self.matrix[(REFERENCE, REFERENCE)]) / count,
            Cost::Ncc => {
                let of_reference = self.matrix[(REFERENCE, REFERENCE)] / count - f * f;
                let of_volume = self.square / count - m * m;
                let common = self.vector[REFERENCE] / count - f * m;
                let scale = (of_reference * of_volume).sqrt();
                if scale > 0.0 { 1.0 - common / scale } else { 1.0 }
            }
        }
    }

    /// The parameters of the motion of the reference that fits the volume best.
    ///
    /// # Errors
    /// Voxels that do not determine all degrees of freedom.
    pub fn solve(&self, cost: Cost) -> Result<Vec<f64>, Error> {
        let changes = self.matrix.nrows() - 2;
        match cost {
            Cost::Ncc => {
                let fit = self.matrix.clone().cholesky().ok_or(Error::Undetermined)?.solve(&self.vector);
                // A negative factor: contrast is inverted, and the fit does not give a motion.
                let scale = fit[REFERENCE];
                if scale <= 0.0 {
                    return Err(Error::Undetermined);
                }
                Ok(fit.iter().skip(2).map(|change| change / scale).collect())
            }
            Cost::Lsq => {
                let matrix = self.matrix.view((2, 2), (changes, changes)).into_owned();
                let vector = self.vector.rows(2, changes) - self.matrix.view((2, REFERENCE), (changes, 1)).column(0);
                let fit = matrix.cholesky().ok_or(Error::Undetermined)?.solve(&vector);
                Ok(fit.iter().copied().collect())
            }
        }
    }
}
