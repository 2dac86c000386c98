//! The result of the linear stage.

use antsreg_core::{AffineTransform, Unit};
use serde::{Deserialize, Serialize};

use crate::BoundaryOutcome;

/// The result of the linear stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The transform that the registration found, fixed → moving, RAS mm.
    pub transform: AffineTransform,
    /// The transform at which the search began, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// Cost of `transform`, 0 to 1: that of the finest level or, after boundary-based registration, the boundary cost.
    pub cost: f64,
    /// For each level its voxel size in mm and the cost of the best candidate at its end; coarsest level first.
    pub levels: Vec<(f64, f64)>,
    /// Whether the search took the moving image as the fixed one and inverted its result. The costs in `levels` are then
    /// those of the inverse, from the moving to the fixed image.
    #[serde(default)]
    pub exchanged: bool,
    /// Result of the boundary-based registration, if there was one after the search. The cost of the linear stage
    /// (`cost`) is then the boundary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryOutcome>,
}

impl Outcome {
    /// The outcome of a stage without a search.
    pub(crate) fn of_start(start: AffineTransform) -> Outcome {
        Outcome { transform: start, start, cost: 1.0, levels: Vec::new(), exchanged: false, boundary: None }
    }

    /// The outcome of a search whose lengths are in `unit`, with its lengths in mm.
    pub(crate) fn in_mm(self, unit: Unit) -> Outcome {
        Outcome {
            transform: unit.transform_in_mm(&self.transform),
            start: unit.transform_in_mm(&self.start),
            levels: self.levels.iter().map(|(size, cost)| (size * unit.mm(), *cost)).collect(),
            ..self
        }
    }
}
