//! Statistics of the Jacobian determinants of a warp: local change of volume, and folds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Volume;
use crate::same_grid::{GridMismatch, same_grid};

/// Statistics of Jacobian determinants over all voxels or over the voxels of a mask. A determinant above 1 means
/// expansion, below 1 compression, and 0 or below a fold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JacobianSummary {
    /// Number of voxels in the statistics. If it is 0, minimum, maximum and mean are NaN.
    pub voxels: u64,
    /// Smallest Jacobian determinant by central differences.
    pub minimum: f64,
    /// Largest Jacobian determinant by central differences.
    pub maximum: f64,
    /// Mean Jacobian determinant by central differences.
    pub mean: f64,
    /// Number of voxels whose Jacobian determinant by central differences is not positive.
    pub folded: u64,
    /// Share (0…1) of the voxels that are folded; 0 if no voxel was counted.
    pub folded_share: f64,
    /// Smallest Jacobian determinant by one-sided differences. These are the determinants of the trilinear
    /// interpolation at the corners of its cells.
    pub corner_minimum: f64,
    /// Number of voxels with a Jacobian determinant by one-sided differences that is not positive: the strict count of
    /// folds.
    pub corner_folded: u64,
}

impl JacobianSummary {
    /// Computes the statistics from two volumes: `determinants` by central differences, and `corners`, the smallest
    /// determinant by one-sided differences at each voxel. With a `mask`, only voxels where it exceeds ½ count. NaN
    /// counts as a fold.
    pub fn of(
        determinants: &Volume,
        corners: &Volume,
        mask: Option<&Volume>,
    ) -> Result<JacobianSummary, GridMismatch> {
        let what = "the Jacobian determinants by central and by one-sided differences";
        same_grid(what, &determinants.grid, &corners.grid)?;
        if let Some(mask) = mask {
            same_grid("the Jacobian determinants and the mask", &determinants.grid, &mask.grid)?;
        }
        let (mut voxels, mut folded, mut corner_folded, mut sum) = (0u64, 0, 0, 0.0);
        let (mut minimum, mut maximum, mut corner_minimum) = (f64::NAN, f64::NAN, f64::NAN);
        // A Jacobian determinant that is NaN counts as a fold. It is tested separately, because the comparison with 0
        // is false for NaN.
        let folds = |determinant: f64| u64::from(determinant <= 0.0 || determinant.is_nan());
        for (n, (determinant, corner)) in determinants.voxels.iter().zip(&corners.voxels).enumerate() {
            if mask.is_none_or(|mask| mask.voxels[n] > 0.5) {
                let [determinant, corner] = [*determinant, *corner].map(f64::from);
                voxels += 1;
                folded += folds(determinant);
                corner_folded += folds(corner);
                corner_minimum = corner.min(corner_minimum);
                sum += determinant;
                minimum = determinant.min(minimum);
                maximum = determinant.max(maximum);
            }
        }
        let mean = sum / voxels as f64;
        let folded_share = Self::share(folded, voxels);
        Ok(JacobianSummary { voxels, minimum, maximum, mean, folded, folded_share, corner_minimum, corner_folded })
    }

    /// Share (0…1) of `voxels` voxels that are folded; 0 if no voxel was counted.
    pub fn share(folded: u64, voxels: u64) -> f64 {
        folded as f64 / voxels.max(1) as f64
    }
}

impl fmt::Display for JacobianSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded, .. } = self;
        write!(
            f,
            "{minimum:.4} to {maximum:.4}, mean {mean:.4}, {folded} of {voxels} voxels folded; at the corners of cells \
             at least {corner_minimum:.4}, {corner_folded} voxels folded"
        )
    }
}

/// How much the local change of volume varies over all voxels or over the voxels of a mask: low for a smooth warp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roughness {
    /// Standard deviation of the natural logarithm of the Jacobian determinants (SDlogJ). Determinants below
    /// [`Roughness::LEAST`] count as that value, because a fold has no logarithm. NaN without voxels.
    pub sd_log: f64,
    /// Share (0…1) of the voxels whose volume changes by more than a factor of two: a determinant below ½ or above 2,
    /// or NaN. NaN without voxels.
    pub outside: f64,
}

impl Roughness {
    /// The smallest determinant whose logarithm is taken.
    pub const LEAST: f64 = 1e-3;

    /// Computes the roughness from Jacobian determinants. With a `mask`, only voxels where it exceeds ½ count.
    ///
    /// # Errors
    /// A mask on another grid.
    pub fn of(determinants: &Volume, mask: Option<&Volume>) -> Result<Roughness, GridMismatch> {
        if let Some(mask) = mask {
            same_grid("the Jacobian determinants and the mask", &determinants.grid, &mask.grid)?;
        }
        let counts = |n: &usize| mask.is_none_or(|mask| mask.voxels[*n] > 0.5);
        let values = || (0..determinants.voxels.len()).filter(counts).map(|n| f64::from(determinants.voxels[n]));
        let logarithm = |value: f64| value.max(Self::LEAST).ln();
        let count = values().count() as f64;
        let mean = values().map(logarithm).sum::<f64>() / count;
        let variance = values().map(|value| (logarithm(value) - mean).powi(2)).sum::<f64>() / count;
        let outside = values().filter(|value| !(0.5..=2.0).contains(value)).count() as f64 / count;
        Ok(Roughness { sd_log: variance.sqrt(), outside })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    fn determinants(voxels: &[f32]) -> Volume {
        Volume { grid: Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    #[test]
    fn counts_what_is_not_positive_as_folded() {
        let corners = determinants(&[0.5, -1.0, -2.0, -0.75]);
        let summary = JacobianSummary::of(&determinants(&[1.0, 2.0, 0.0, -0.5]), &corners, None).unwrap();
        let expected = JacobianSummary {
            voxels: 4,
            minimum: -0.5,
            maximum: 2.0,
            mean: 0.625,
            folded: 2,
            folded_share: 0.5,
            corner_minimum: -2.0,
            corner_folded: 3,
        };
        assert_eq!(summary, expected);
        let one = determinants(&[1.0, f32::NAN]);
        let summary = JacobianSummary::of(&one, &one, None).unwrap();
        assert_eq!((summary.folded, summary.corner_folded), (1, 1));
    }

    #[test]
    fn only_the_mask_counts() {
        let mask = determinants(&[1.0, 0.51, 0.0, 0.5]);
        let four = determinants(&[1.0, 2.0, 0.0, -0.5]);
        let summary = JacobianSummary::of(&four, &four, Some(&mask)).unwrap();
        assert_eq!((summary.voxels, summary.folded, summary.minimum), (2, 0, 1.0));
        assert_eq!((summary.corner_folded, summary.corner_minimum), (0, 1.0));
        let one = determinants(&[1.0]);
        let empty = JacobianSummary::of(&one, &one, Some(&determinants(&[0.0]))).unwrap();
        assert!(empty.voxels == 0 && empty.minimum.is_nan() && empty.mean.is_nan());
        assert_eq!(empty.folded_share, 0.0);
        assert!(JacobianSummary::of(&one, &one, Some(&mask)).is_err());
        assert!(JacobianSummary::of(&one, &four, None).is_err());
    }

    #[test]
    fn roughness_is_the_spread_of_logarithms_and_the_share_beyond_a_factor_of_two() {
        let found = Roughness::of(&determinants(&[1.0, 4.0, 0.25, -3.0]), Some(&determinants(&[1.0, 1.0, 1.0, 0.0])))
            .unwrap();
        // Logarithms 0, ln 4 and -ln 4.
        assert!((found.sd_log - (2.0f64 / 3.0).sqrt() * 4f64.ln()).abs() < 1e-12, "{found:?}");
        assert!((found.outside - 2.0 / 3.0).abs() < 1e-12);
        let folded = Roughness::of(&determinants(&[1.0, f32::NAN, -1.0, 2.0]), None).unwrap();
        assert!(folded.sd_log.is_finite() && folded.outside == 0.5, "{folded:?}");
        assert!(Roughness::of(&determinants(&[1.0]), Some(&determinants(&[0.0]))).unwrap().sd_log.is_nan());
    }
}
