//! Boundary-based registration (Greve & Fischl 2009, NeuroImage 48:63): the moving image is sampled on both sides of the border of
//! the fixed image's white matter, and the transform is improved until the image is brighter, or darker, on one side everywhere.
//!
//! The result is compared with its start. A result without a lower cost, or far from the start, is refused: then the transform
//! stays that of the start.

mod refine;
mod surface;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

pub(crate) use refine::refine;
pub(crate) use surface::Surface;

/// How the contrasts of all points become one cost. The contrast q of a point is in %: 100·(outside − inside) divided
/// by their mean; t = tanh(slope·(q − offset)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum BoundaryKind {
    /// Grey matter is brighter than white, as in functional images (with a positive slope, darker)
    ///
    /// (1 + mean t)/2.
    #[default]
    Signed,
    /// Either side is brighter, at each point for itself
    ///
    /// (1 − mean |t|)/2.
    Unsigned,
    /// Either side is brighter, the same one at all points
    ///
    /// (1 − |mean t|)/2.
    Absolute,
}

/// The name as typed.
impl fmt::Display for BoundaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Options of boundary-based registration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Boundary {
    /// How the contrasts of the points become a cost.
    pub kind: BoundaryKind,
    /// Slope for each % of contrast: negative where the outside of white matter is brighter.
    pub slope: f64,
    /// Contrast at which a point contributes nothing, %.
    pub offset: f64,
    /// Distance of the samples from the border of the white matter, mm.
    pub distance_mm: f64,
    /// Whether the start is improved directly, without a search by another cost first.
    pub from_start: bool,
}

impl Default for Boundary {
    fn default() -> Boundary {
        Boundary { kind: BoundaryKind::Signed, slope: -0.05, offset: 0.0, distance_mm: 2.0, from_start: false }
    }
}

impl Boundary {
    /// Allowed distances of the samples, mm.
    pub const DISTANCE_MM: std::ops::RangeInclusive<f64> = 0.1..=10.0;
    /// Largest distance of an accepted result from its start, mm: the root of the mean squared distance over a sphere
    /// of 80 mm.
    pub const FARTHEST_MM: f64 = 10.0;

    /// Checks that all values are in range.
    ///
    /// # Errors
    /// [`Error::BoundaryDistance`], [`Error::BoundaryNumber`].
    pub fn check(&self) -> Result<(), Error> {
        if !Self::DISTANCE_MM.contains(&self.distance_mm) {
            return Err(Error::BoundaryDistance(self.distance_mm));
        }
        let usable = self.slope.is_finite() && self.slope != 0.0 && self.offset.is_finite();
        if usable { Ok(()) } else { Err(Error::BoundaryNumber { slope: self.slope, offset: self.offset }) }
    }
}

/// Statistics of a boundary-based registration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundaryOutcome {
    /// The costs at the start and of the result, 0 to 1. Points that do not count contribute 0.5.
    pub costs: [f64; 2],
    /// Distance of the result from the start, mm: the root of the mean squared distance over a sphere of 80 mm.
    pub moved_mm: f64,
    /// Share of the points, by area, that lie in the moving image and have signal, at the start and in the result.
    pub counted: [f64; 2],
    /// Whether the result was accepted. If not, the transform is that of the start.
    pub taken: bool,
}
