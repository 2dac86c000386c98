//! What is told of fields, from what a backend found over the voxels that count.

use antsreg_core::jacobian::JacobianSummary;

use crate::InverseConsistency;

/// What a number that each voxel has comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statistics {
    pub(crate) counted: u64,
    pub(crate) sum: f64,
    /// Above `high` where there is no number.
    pub(crate) low: f32,
    pub(crate) high: f32,
    /// Zero, less, or no number.
    pub(crate) not_positive: u64,
}

impl Statistics {
    /// Of determinants.
    pub(crate) fn jacobian_summary(self) -> JacobianSummary {
        let Statistics { counted, sum, low, high, not_positive } = self;
        let [minimum, maximum] = if low <= high { [low, high].map(f64::from) } else { [f64::NAN; 2] };
        JacobianSummary { voxels: counted, minimum, maximum, mean: sum / counted as f64, folded: not_positive }
    }

    /// Of distances.
    pub(crate) fn inverse_consistency(self) -> InverseConsistency {
        let Statistics { counted, sum, low, high, .. } = self;
        let largest_voxels = if low <= high { f64::from(high) } else { f64::NAN };
        InverseConsistency { voxels: counted, mean_voxels: sum / counted as f64, largest_voxels }
    }
}
