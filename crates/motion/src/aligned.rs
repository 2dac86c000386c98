//! The result of aligning one volume.

use antsreg_core::{AffineTransform, Unit};

/// The result of aligning a volume to the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aligned {
    /// The transform from points of the reference to points of the volume, RAS mm.
    pub transform: AffineTransform,
    /// Cost of the alignment on the finest level. It is 1 − correlation; the mean squared difference in units of the
    /// reference's variance; 1 − correlation ratio; or 2 − normalised mutual information.
    pub cost: f64,
    /// Share of the compared points of the reference that lie inside the volume.
    pub overlap: f64,
}

impl Aligned {
    /// This result, whose transform has lengths in `unit`, with lengths in mm.
    pub(crate) fn in_mm(self, unit: Unit) -> Aligned {
        Aligned { transform: unit.transform_in_mm(&self.transform), ..self }
    }
}
