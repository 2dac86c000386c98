//! What a caller may choose, and what it gets back.

use antsreg_core::AffineTransform;

/// Degrees of freedom of the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dof {
    /// Rotation and translation.
    Rigid6,
    /// Rigid and one common scale.
    Similarity7,
    /// Rigid and a scale per axis.
    Scales9,
    /// Every affine map.
    Affine12,
}

/// Where the search begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// Centres of mass on each other, axes as the headers say.
    CentreOfMass,
    /// World coordinates as the headers say.
    Headers,
    /// A given transform, fixed → moving, RAS mm.
    Transform(AffineTransform),
}

/// How much of the space of rotations is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Search {
    /// FLIRT's coarse search over ± these angles about x, y and z (degrees), then refinement.
    Angles([f64; 3]),
    /// Refine the start only.
    None,
}

/// Parameters of the linear stage; the defaults are FLIRT's.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Degrees of freedom.
    pub dof: Dof,
    /// Where the search begins.
    pub start: Start,
    /// Rotations looked at.
    pub search: Search,
    /// Bins over the fixed intensities at 1 mm; a level of s mm uses bins / s.
    pub bins: usize,
    /// Finest level used, mm: 8, 4, 2 or 1.
    pub finest_mm: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dof: Dof::Affine12,
            start: Start::CentreOfMass,
            search: Search::Angles([90.0; 3]),
            bins: 256,
            finest_mm: 1.0,
        }
    }
}

/// The result of the linear stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Fixed → moving, RAS mm.
    pub transform: AffineTransform,
    /// Cost 1 − η at the finest level used.
    pub cost: f64,
    /// (level in mm, cost at its end), coarsest first.
    pub levels: Vec<(f64, f64)>,
}
