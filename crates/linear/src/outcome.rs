//! The result of the linear stage.

use antsreg_core::AffineTransform;
use serde::{Deserialize, Serialize};

use crate::BoundaryOutcome;

/// The result of the linear stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The transform found, fixed → moving, RAS mm.
    pub transform: AffineTransform,
    /// The start of the search, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// Cost of `transform` on the finest level used, 0 to 1.
    pub cost: f64,
    /// Spacing of each level in mm, and the cost at the end of the level; coarsest level first.
    pub levels: Vec<(f64, f64)>,
    /// What boundary-based registration did after the search. Then `cost` is its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryOutcome>,
}
