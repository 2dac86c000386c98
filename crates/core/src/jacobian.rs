//! What the Jacobian determinants of a warp say: how much it squeezes and stretches, and whether it folds.

use crate::Volume;
use crate::same_grid::{GridMismatch, same_grid};

/// Jacobian determinants over the voxels that count: 1 keeps volume, above stretches, 0 and below folds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JacobianSummary {
    /// Voxels that count. Minimum, maximum and mean are NaN if there are none.
    pub voxels: u64,
    /// Smallest determinant.
    pub minimum: f64,
    /// Largest determinant.
    pub maximum: f64,
    /// Mean determinant.
    pub mean: f64,
    /// Voxels whose determinant is not positive.
    pub folded: u64,
}

impl JacobianSummary {
    /// Of a volume of determinants, where `mask`, if there is one, exceeds ½. A determinant that is not a number counts
    /// as folded.
    pub fn of(determinants: &Volume, mask: Option<&Volume>) -> Result<JacobianSummary, GridMismatch> {
        if let Some(mask) = mask {
            same_grid("the field and the mask", &determinants.grid, &mask.grid)?;
        }
        let (mut voxels, mut folded, mut sum) = (0u64, 0, 0.0);
        let (mut minimum, mut maximum) = (f64::NAN, f64::NAN);
        for (n, determinant) in determinants.voxels.iter().enumerate() {
            if mask.is_none_or(|mask| mask.voxels[n] > 0.5) {
                let determinant = f64::from(*determinant);
                voxels += 1;
                // NaN must not pass for a map without folds.
                folded += u64::from(determinant <= 0.0 || determinant.is_nan());
                sum += determinant;
                minimum = determinant.min(minimum);
                maximum = determinant.max(maximum);
            }
        }
        Ok(JacobianSummary { voxels, minimum, maximum, mean: sum / voxels as f64, folded })
    }

    /// Share (0…1) of the voxels that fold; 0 if no voxel counts.
    pub fn folded_share(&self) -> f64 {
        self.folded as f64 / self.voxels.max(1) as f64
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
        let summary = JacobianSummary::of(&determinants(&[1.0, 2.0, 0.0, -0.5]), None).unwrap();
        let expected = JacobianSummary { voxels: 4, minimum: -0.5, maximum: 2.0, mean: 0.625, folded: 2 };
        assert_eq!(summary, expected);
        assert_eq!(summary.folded_share(), 0.5);
        assert_eq!(JacobianSummary::of(&determinants(&[1.0, f32::NAN]), None).unwrap().folded, 1);
    }

    #[test]
    fn only_the_mask_counts() {
        let mask = determinants(&[1.0, 1.0, 0.0, 0.2]);
        let summary = JacobianSummary::of(&determinants(&[1.0, 2.0, 0.0, -0.5]), Some(&mask)).unwrap();
        assert_eq!((summary.voxels, summary.folded, summary.minimum), (2, 0, 1.0));
        let empty = JacobianSummary::of(&determinants(&[1.0]), Some(&determinants(&[0.0]))).unwrap();
        assert!(empty.voxels == 0 && empty.minimum.is_nan() && empty.mean.is_nan());
        assert_eq!(empty.folded_share(), 0.0);
        assert!(JacobianSummary::of(&determinants(&[1.0]), Some(&mask)).is_err());
    }
}
