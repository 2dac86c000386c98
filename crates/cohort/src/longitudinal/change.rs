//! Volumes of labels in a time point, from the Jacobian determinants of its warp.

use std::collections::BTreeMap;

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{LabelVolume, Volume};

/// Smallest Jacobian determinant whose logarithm counts. A smaller one is a fold, which has no logarithm; tissue does not
/// shrink to a thousandth.
const LEAST: f64 = 1e-3;

/// A label in a time point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LabelChange {
    /// Number of voxels of the label in the common space.
    pub voxels: u64,
    /// Volume of the label in the time point, mm³: the integral of the determinants over the label.
    pub volume_mm3: f64,
    /// Mean natural logarithm of the determinants.
    pub mean_log: f64,
    /// Mean magnitude of the natural logarithm of the determinants.
    pub mean_abs_log: f64,
}

/// The volume and the mean logarithm of each label except 0, from the determinants of the warp that maps the common space
/// to a time point. The voxels are added in their order.
///
/// # Errors
/// Two grids.
pub fn changes(labels: &LabelVolume, determinants: &Volume) -> Result<BTreeMap<i32, LabelChange>, GridMismatch> {
    same_grid("the labels and the Jacobian determinants", &labels.grid, &determinants.grid)?;
    let mut found: BTreeMap<i32, LabelChange> = BTreeMap::new();
    for (label, determinant) in labels.voxels.iter().zip(&determinants.voxels).filter(|(label, _)| **label != 0) {
        let determinant = f64::from(*determinant);
        let logarithm = determinant.max(LEAST).ln();
        let sums = found.entry(*label).or_default();
        sums.voxels += 1;
        sums.volume_mm3 += determinant;
        sums.mean_log += logarithm;
        sums.mean_abs_log += logarithm.abs();
    }
    let voxel_mm3 = determinants.grid.spacing.product();
    for sums in found.values_mut() {
        sums.volume_mm3 *= voxel_mm3;
        sums.mean_log /= sums.voxels as f64;
        sums.mean_abs_log /= sums.voxels as f64;
    }
    Ok(found)
}
