//! The result of a registration.

use antsreg_core::{AffineTransform, DisplacementField, TransformChain, Volume};
use antsreg_linear as linear;
use antsreg_syn as syn;
use antsreg_verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::{Coverage, Similarity, StageOutcome, Warning};

/// The result of a registration. A fixed point is mapped by the warp, then by the affine, to the moving point.
#[derive(Debug)]
pub struct Registration {
    /// The initial affine of the first stage, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Chain of transforms from fixed to moving points, the warp first. It is used to resample the moving image on the
    /// fixed grid.
    pub forward: TransformChain,
    /// Chain of transforms from moving to fixed points, the inverse warp last. It is used to resample the fixed image
    /// on the moving grid. It contains only the affine if the inverse warp was not requested.
    pub backward: TransformChain,
    /// Outcome of each stage of the registration, in order.
    pub outcomes: Vec<StageOutcome>,
    /// Statistics of the relaxation, which removes folds and inconsistency of warp and inverse warp; `None` without a
    /// deformable stage.
    pub relaxed: Option<syn::Relaxed>,
    /// The displacements of the warps are rounded to multiples of this step, mm. `None` if they are not rounded,
    /// because exact warps were requested or a rounded warp would fold.
    pub step_mm: Option<f32>,
    /// Jacobian determinants and inverse consistency of the warps, if requested.
    pub scores: Option<syn::Scores>,
    /// The moving image, resampled on the fixed grid, if requested.
    pub warped: Option<Volume>,
    /// The fixed image, resampled on the moving grid, if requested.
    pub inverse_warped: Option<Volume>,
    /// Correlation of the fixed and the moving image; `None` if no images were requested.
    pub similarity: Similarity,
    /// The share of the fixed image that the moving image covers.
    pub coverage: Coverage,
    /// Whether the result is right; `None` if no images were requested.
    pub verdict: Option<Verdict>,
    /// Warnings that the result of the registration may be wrong.
    pub warnings: Vec<Warning>,
    /// Wall times of the parts of the registration.
    pub seconds: Seconds,
}

/// Wall times of a registration, seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Duration of each stage.
    pub stages: Vec<f64>,
    /// Duration of downloading the warps.
    pub download: f64,
    /// Duration of computing the warped images and the correlations.
    pub images: f64,
}

impl Registration {
    /// The warp: displacements that are applied before the affine, on the fixed grid, RAS mm; `None` without a
    /// deformable stage.
    pub fn warp(&self) -> Option<&DisplacementField> {
        self.forward.displacement()
    }

    /// The inverse of the warp, on the fixed grid, RAS mm, if requested.
    pub fn inverse_warp(&self) -> Option<&DisplacementField> {
        self.backward.displacement()
    }

    /// The outcome of the last linear stage.
    pub fn linear(&self) -> Option<&linear::Outcome> {
        self.outcomes.iter().rev().find_map(|outcome| match outcome {
            StageOutcome::Linear(outcome) => Some(outcome),
            StageOutcome::Deformable(_) => None,
        })
    }

    /// The outcomes of the levels of all deformable stages of the registration, in order.
    pub fn levels(&self) -> impl Iterator<Item = &syn::LevelOutcome> {
        self.outcomes.iter().flat_map(|outcome| match outcome {
            StageOutcome::Linear(_) => &[][..],
            StageOutcome::Deformable(levels) => levels,
        })
    }
}
