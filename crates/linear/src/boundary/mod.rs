//! Boundary-based registration (Greve & Fischl 2009, NeuroImage 48:63): the moving image is sampled on both sides of
//! the border of the fixed image's white matter, and the transform is improved until the contrast between the two sides
//! is large and has the same sign everywhere.
//!
//! A result is accepted only if its cost is lower than the cost at the start and if it is near the start. Otherwise the
//! transform of the start is returned.

mod refine;
mod surface;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

pub(crate) use refine::refine;
pub(crate) use surface::Surface;

/// How the contrasts at all points of the white matter's border are combined into one cost. The contrast q at a point,
/// in %, is 100·(outside − inside) divided by the mean of both intensities. The costs use t = tanh(slope·(q − offset)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum BoundaryKind {
    /// Grey matter is brighter than white matter (darker if the slope is positive).
    ///
    /// The cost is (1 + mean t)/2, where t = tanh(slope·(q − offset)) and q is the contrast at a point of the border.
    #[default]
    Signed,
    /// At each point, either side of the border may be brighter.
    ///
    /// The cost is (1 − mean |t|)/2, where t = tanh(slope·(q − offset)) and q is the contrast at a point of the border.
    Unsigned,
    /// Either side of the border may be brighter, but the same side at all points.
    ///
    /// The cost is (1 − |mean t|)/2, where t = tanh(slope·(q − offset)) and q is the contrast at a point of the border.
    Absolute,
}

/// Formats the cost's name as users type it, such as "signed".
impl fmt::Display for BoundaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Options of boundary-based registration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Boundary {
    /// How the contrasts at the points of the white matter's border are combined into one cost.
    pub kind: BoundaryKind,
    /// Slope of the cost as a function of the contrast, per % of contrast. It is negative if the tissue outside the
    /// white matter is brighter.
    pub slope: f64,
    /// Offset of the contrast, in %. A point of the white matter's border with this contrast adds 0 to the mean of
    /// tanh(slope·(contrast − offset)), from which the cost is computed.
    pub offset: f64,
    /// Distance from the border of the white matter to the positions where the moving image is sampled, mm. The default
    /// suits the human cortex.
    pub distance_mm: f64,
    /// Whether boundary-based registration begins at the given start. If not, a search with another cost comes first.
    pub from_start: bool,
}

impl Default for Boundary {
    fn default() -> Boundary {
        Boundary { kind: BoundaryKind::Signed, slope: -0.05, offset: 0.0, distance_mm: 2.0, from_start: false }
    }
}

impl Boundary {
    /// Allowed distances between the border of the white matter and the sampling positions, mm.
    pub const DISTANCE_MM: std::ops::RangeInclusive<f64> = 1e-3..=1e3;
    /// Largest allowed distance between the result of boundary-based registration and its start, mm in a human head: the
    /// root-mean-square displacement over a sphere with a radius of 80 mm. A result farther away is refused. For heads
    /// of another size, both lengths are those of the head's [`Unit`](antsreg_core::Unit).
    pub const FARTHEST_MM: f64 = 10.0;

    /// Checks that all options of boundary-based registration are in range.
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
    /// Costs of boundary-based registration at the start and in the result, 0 to 1. A point of the border that lies
    /// outside the moving image or has no signal contributes 0.5.
    pub costs: [f64; 2],
    /// Distance between the start and the result, mm: the root-mean-square displacement over a sphere with a radius of
    /// 80 mm.
    pub moved_mm: f64,
    /// Share of the white matter's border, by area, that lies in the moving image and has signal: at the start, and in
    /// the result.
    pub counted: [f64; 2],
    /// Whether the result was accepted. If not, the transform is the start.
    pub taken: bool,
}
