//! The results of a registration in its record: stages, warps, overlap of labels.

use antsreg_core::JacobianSummary;
use antsreg_core::overlap::Overlap;
use antsreg_kernels::InverseConsistency;
use antsreg_register::{Registration, linear, syn};
use serde::{Deserialize, Serialize};

/// Results of a linear stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearRecord {
    /// Cost of the linear stage at its end, 0 to 1.
    pub cost: f64,
    /// Whether the search took the moving image as the fixed one and inverted its result. The costs in `levels` are then
    /// those of the inverse, from the moving to the fixed image.
    #[serde(default)]
    pub exchanged: bool,
    /// Cost of the linear stage at the end of each level, coarse to fine.
    pub levels: Vec<LinearLevel>,
}

/// Result of a level of a linear stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearLevel {
    /// Resolution of this level of the registration, mm.
    pub mm: f64,
    /// Cost of the linear stage at the end of this level.
    pub cost: f64,
}

impl From<&linear::Outcome> for LinearRecord {
    fn from(outcome: &linear::Outcome) -> LinearRecord {
        let levels = outcome.levels.iter().map(|&(mm, cost)| LinearLevel { mm, cost }).collect();
        LinearRecord { cost: outcome.cost, exchanged: outcome.exchanged, levels }
    }
}

/// Results of the deformable stages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynRecord {
    /// The levels of all deformable stages, coarse to fine.
    pub levels: Vec<SynLevel>,
    /// Number of rounds of relaxation, which removes folds and makes both warps inverse to each other.
    pub relaxing_rounds: usize,
    /// Number of times that the warp and the inverse warp were smoothed at all voxels, because the rounds of relaxation
    /// did not remove all folds and inconsistencies.
    pub whole_smoothings: usize,
    /// Number of voxels of both warps with an error after the last round of relaxation: voxels that fold, or where warp
    /// and inverse warp together move a point too far.
    pub beyond_limits: usize,
}

/// Result of a level of a deformable stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynLevel {
    /// Shrink factor.
    pub shrink: usize,
    /// Number of iterations done.
    pub iterations: usize,
    /// Whether the iterations of the level ended because the energy no longer fell, before the largest allowed number
    /// of iterations.
    pub converged: bool,
    /// Whether the level's result was discarded, because the images had not become more similar.
    pub undone: bool,
    /// Energy (the value that the deformable stage minimises) of each iteration in this level.
    pub energies: Vec<f64>,
}

impl SynRecord {
    /// Results of the deformable stages of a registration; `None` without a deformable stage.
    pub fn of(found: &Registration) -> Option<SynRecord> {
        let syn::Relaxed { rounds, whole, beyond } = found.relaxed?;
        let levels = found.levels().map(|level| SynLevel {
            shrink: level.shrink,
            iterations: level.energies.len(),
            converged: level.converged,
            undone: level.undone,
            energies: level.energies.clone(),
        });
        let levels = levels.collect();
        Some(SynRecord { levels, relaxing_rounds: rounds, whole_smoothings: whole, beyond_limits: beyond })
    }
}

/// Jacobian determinants and inverse consistency of both warps without the affine, within the fixed mask if there is
/// one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JacobianRecord {
    /// Jacobian determinants of the warp, the file `1Warp`.
    pub warp: JacobianSummary,
    /// Jacobian determinants of the inverse warp, the file `1InverseWarp`.
    pub inverse_warp: JacobianSummary,
    /// Inverse consistency of points moved by the warp, then by the inverse warp.
    pub warp_then_inverse: InverseConsistency,
    /// Inverse consistency of points moved by the inverse warp, then by the warp.
    pub inverse_then_warp: InverseConsistency,
}

impl From<&syn::Scores> for JacobianRecord {
    fn from(scores: &syn::Scores) -> JacobianRecord {
        let syn::Scores { warp, inverse_warp, warp_then_inverse, inverse_then_warp } = *scores;
        JacobianRecord { warp, inverse_warp, warp_then_inverse, inverse_then_warp }
    }
}

/// Overlap of fixed labels and resampled moving labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OverlapRecord {
    /// Number of labels for which the overlap was computed.
    pub labels: usize,
    /// Jaccard index, mean over the labels.
    pub mean_jaccard: f64,
    /// Dice coefficient, mean over the labels.
    pub mean_dice: f64,
    /// Total Jaccard index: sum of intersections over sum of unions.
    pub total_jaccard: f64,
    /// Total Dice coefficient: twice the sum of intersections over the sum of volumes.
    pub total_dice: f64,
}

impl From<&Overlap> for OverlapRecord {
    fn from(overlap: &Overlap) -> OverlapRecord {
        let [_, mean_jaccard, mean_dice, ..] = overlap.mean();
        let all = overlap.all();
        OverlapRecord {
            labels: overlap.labels.len(),
            mean_jaccard,
            mean_dice,
            total_jaccard: all.jaccard(),
            total_dice: all.dice(),
        }
    }
}
