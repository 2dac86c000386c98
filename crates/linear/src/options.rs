//! What a caller may choose, and what it gets back.

use antsreg_core::AffineTransform;
use antsreg_core::report::SearchStep;
use antsreg_kernels::{JointParameters, JointSampling};

use crate::{Cost, Error};

/// Degrees of freedom of the transform; the numbers are those of volumes, slices have 3, 4, 5 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dof {
    /// Rotation and translation.
    Rigid6,
    /// Rigid and one common scale.
    Similarity7,
    /// Rigid and a scale along each axis of the moving image.
    Scales9,
    /// Every affine map.
    Affine12,
}

impl Dof {
    /// How many they are, of volumes or of slices.
    pub fn number(self, slices: bool) -> u8 {
        match (self, slices) {
            (Dof::Rigid6, false) => 6,
            (Dof::Similarity7, false) => 7,
            (Dof::Scales9, false) => 9,
            (Dof::Affine12, false) => 12,
            (Dof::Rigid6, true) => 3,
            (Dof::Similarity7, true) => 4,
            (Dof::Scales9, true) => 5,
            (Dof::Affine12, true) => 6,
        }
    }

    /// The step of the search that optimises over these degrees of freedom.
    pub(crate) fn search_step(self) -> SearchStep {
        SearchStep::DegreesOfFreedom(self.number(false))
    }
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
    /// A coarse search over angles, then refinement.
    Angles(AngleSearch),
    /// Refine the start only.
    None,
}

/// The rotations, about the start's, at which the coarse search looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AngleSearch {
    /// From minus to plus these angles about x, y and z, degrees, at most 180.
    pub range_degrees: [f64; 3],
    /// Distance of the angles from which translation and scale are optimised.
    pub coarse_step_degrees: f64,
    /// Distance of the angles at which the cost is looked at.
    pub fine_step_degrees: f64,
    /// Whether to try, whatever the range, the four turns that put the principal axes of both images on each other:
    /// with them the search finds a brain in any orientation.
    pub principal_axes: bool,
}

impl AngleSearch {
    /// For slices: all the way round about their normal.
    pub fn of_slices() -> AngleSearch {
        AngleSearch { range_degrees: [0.0, 0.0, 180.0], ..AngleSearch::default() }
    }
}

impl Default for AngleSearch {
    fn default() -> Self {
        AngleSearch {
            range_degrees: [90.0; 3],
            coarse_step_degrees: 60.0,
            fine_step_degrees: 18.0,
            principal_axes: true,
        }
    }
}

/// How a start is brought to the bottom of its valley.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimiser {
    /// FLIRT's search along one parameter after the other, then Newton steps.
    #[default]
    Flirt,
    /// Powell's method, never evaluating a point within 0.05° and 0.02 mm (times the level's mm) of a known one
    /// (Shams 2010).
    Powell,
    /// Steepest descent (Sun 2010).
    Descent,
}

/// Parameters of the linear stage; the defaults are FLIRT's, for its correlation ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Degrees of freedom.
    pub dof: Dof,
    /// Where the search begins.
    pub start: Start,
    /// Rotations looked at.
    pub search: Search,
    /// How each start is optimised.
    pub optimiser: Optimiser,
    /// What is minimised.
    pub cost: Cost,
    /// How joint histograms are filled, for the costs made of them.
    pub histogram: JointSampling,
    /// Bins over the intensities at 1 mm, for the costs that have any. A level of s mm uses bins / s, and bins / √s on
    /// either side of a joint histogram.
    pub bins: usize,
    /// Finest level used, mm: 8, 4, 2 or 1. Levels finer than the voxels are skipped in any case.
    pub finest_mm: f64,
    /// Intensities are clamped to the values below which these shares of the voxels lie.
    pub robust_shares: [f64; 2],
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dof: Dof::Affine12,
            start: Start::CentreOfMass,
            search: Search::Angles(AngleSearch::default()),
            optimiser: Optimiser::default(),
            cost: Cost::CorrelationRatio,
            histogram: JointSampling::Trilinear,
            bins: Cost::CorrelationRatio.default_bins(),
            finest_mm: 1.0,
            robust_shares: [0.02, 0.98],
        }
    }
}

/// Bins that intensities may have at 1 mm.
const BINS: std::ops::RangeInclusive<usize> = JointParameters::BINS;

impl Options {
    /// The defaults of a cost.
    pub fn of(cost: Cost) -> Options {
        Options { cost, bins: cost.default_bins(), ..Options::default() }
    }

    /// Refuses values that mean nothing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !BINS.contains(&self.bins) {
            return Err(Error::Bins { found: self.bins, least: *BINS.start(), most: *BINS.end() });
        }
        if ![8.0, 4.0, 2.0, 1.0].contains(&self.finest_mm) {
            return Err(Error::FinestLevel(self.finest_mm));
        }
        let [low, high] = self.robust_shares;
        if !(0.0..1.0).contains(&low) || !(low..=1.0).contains(&high) || low == high {
            return Err(Error::RobustShares(self.robust_shares));
        }
        if let Search::Angles(angles) = &self.search {
            let range = angles.range_degrees;
            if !range.iter().all(|angle| (0.0..=180.0).contains(angle)) {
                return Err(Error::AngleRange(range));
            }
            for step in [angles.coarse_step_degrees, angles.fine_step_degrees] {
                if !(1.0..=180.0).contains(&step) {
                    return Err(Error::AngleStep(step));
                }
            }
        }
        Ok(())
    }
}

/// The result of the linear stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Fixed → moving, RAS mm.
    pub transform: AffineTransform,
    /// Cost at the finest level used.
    pub cost: f64,
    /// (level in mm, cost at its end), coarsest first.
    pub levels: Vec<(f64, f64)>,
}
