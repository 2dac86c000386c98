//! Transforms in sequence, their order stated once.

use crate::{AffineTransform, DisplacementField};

/// One step of a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// An affine map of world points, mm.
    Affine(AffineTransform),
    /// A displacement of world points, mm.
    Displacement(DisplacementField),
}

/// Point maps in the order in which a point of the output (fixed) space goes through them to reach the input (moving)
/// space: the first element acts first.
///
/// A registration that writes `1Warp` and `0GenericAffine` is the chain `[1Warp, 0GenericAffine]`, which is also the
/// order in which ANTs lists them after `-t`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransformChain {
    /// The steps, first to act on a point first.
    pub steps: Vec<Transform>,
}
