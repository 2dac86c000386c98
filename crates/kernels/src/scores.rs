//! Scores of fields and images, from the statistics that a backend computes over voxels.

use antsreg_core::jacobian::JacobianSummary;

use crate::InverseConsistency;

/// Sums for Pearson's correlation of two images: over the pairs (a, b) of values that the images have at the same
/// voxel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairSums {
    pub(crate) counted: u64,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) aa: f64,
    pub(crate) bb: f64,
    pub(crate) ab: f64,
}

impl PairSums {
    /// Pearson's correlation of the values of two images; NaN if either image is constant.
    pub(crate) fn correlation(self) -> f64 {
        /// Largest variance that rounding errors give to a constant value, as a share of the square of that value.
        const ROUNDING: f64 = 1e-13;
        let PairSums { counted, a, b, aa, bb, ab } = self;
        let count = counted as f64;
        let variance = |sum: f64, squares: f64| {
            let variance = squares - sum * sum / count;
            if variance > ROUNDING * squares { variance } else { f64::NAN }
        };
        (ab - a * b / count) / (variance(a, aa).sqrt() * variance(b, bb).sqrt())
    }
}

/// Statistics of a quantity that has one number per voxel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statistics {
    pub(crate) counted: u64,
    pub(crate) sum: f64,
    /// The smallest value of the quantity over all voxels that count. It is larger than `high`, the largest value, if
    /// no voxel counts or all values are NaN.
    pub(crate) low: f32,
    pub(crate) high: f32,
    /// Number of voxels where the quantity, such as the Jacobian determinant, is zero, negative or NaN.
    pub(crate) not_positive: u64,
    /// For Jacobian determinants: the smallest determinant at any corner of the trilinear cells, over all voxels that
    /// count.
    pub(crate) corner_low: f32,
    pub(crate) corner_not_positive: u64,
}

impl Statistics {
    /// The summary of a warp for the user (mean, extremes and numbers of folded voxels) from the sums and extremes of
    /// its Jacobian determinants.
    pub(crate) fn jacobian_summary(self) -> JacobianSummary {
        let Statistics { counted, sum, low, high, not_positive, corner_low, corner_not_positive } = self;
        let [minimum, maximum, corner_minimum] = match low <= high {
            true => [low, high, corner_low].map(f64::from),
            false => [f64::NAN; 3],
        };
        JacobianSummary {
            voxels: counted,
            minimum,
            maximum,
            mean: sum / counted as f64,
            folded: not_positive,
            folded_share: JacobianSummary::share(not_positive, counted),
            corner_minimum,
            corner_folded: corner_not_positive,
        }
    }

    /// The inverse consistency of two fields, from the statistics of the distances between points and their positions
    /// after both fields: mean and largest distance.
    pub(crate) fn inverse_consistency(self) -> InverseConsistency {
        let Statistics { counted, sum, low, high, .. } = self;
        let largest_voxels = if low <= high { f64::from(high) } else { f64::NAN };
        InverseConsistency { voxels: counted, mean_voxels: sum / counted as f64, largest_voxels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(a: &[f64], b: &[f64]) -> PairSums {
        let sum = |of: &dyn Fn(usize) -> f64| (0..a.len()).map(of).sum();
        PairSums {
            counted: a.len() as u64,
            a: sum(&|n| a[n]),
            b: sum(&|n| b[n]),
            aa: sum(&|n| a[n] * a[n]),
            bb: sum(&|n| b[n] * b[n]),
            ab: sum(&|n| a[n] * b[n]),
        }
    }

    #[test]
    fn correlation_does_not_depend_on_the_unit_of_intensities() {
        // Deviations from the means: -1.5, 0.5, -0.5, 1.5 and -1, -1, 1, 1. So the correlation is 2/√(5·4).
        let (a, b) = ([1.0, 3.0, 2.0, 4.0], [0.0, 0.0, 2.0, 2.0]);
        for unit in [1e-12, 1e-6, 1.0, 1e6] {
            let found = sums(&a.map(|value| unit * value), &b).correlation();
            // The tolerance is the rounding error of a few products in double precision.
            assert!((found - 0.2_f64.sqrt()).abs() < 1e-14, "{found} in the unit {unit}");
        }
    }

    #[test]
    fn a_constant_image_has_no_correlation() {
        let b: Vec<f64> = (0..1000).map(f64::from).collect();
        for constant in [0.0, 1e-9, 0.1, 1e9 / 3.0] {
            let found = sums(&[constant; 1000], &b).correlation();
            assert!(found.is_nan(), "{found} with {constant}");
        }
    }
}
