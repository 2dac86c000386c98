//! Options of the linear stage, and their allowed ranges.

use std::fmt;
use std::ops::RangeInclusive;

use antsreg_core::report::SearchStep;
use antsreg_kernels::{JointParameters, JointSampling};
use serde::{Deserialize, Serialize};

use crate::{Boundary, Cost, Error};

/// Model of the transform, by its degrees of freedom.
///
/// The numbers in the names are the degrees of freedom for volumes. For slices the models have 2, 3, 4, 5 and 6. The
/// models are ordered from few to many degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dof {
    /// Translation only. The linear part of the transform stays exactly that of the start transform.
    #[serde(rename = "translation")]
    Translation3,
    /// Rotation and translation (rigid).
    #[serde(rename = "rigid")]
    Rigid6,
    /// Rotation, translation and one common scale.
    #[serde(rename = "similarity")]
    Similarity7,
    /// Rotation, translation and a scale along each axis of the moving image.
    #[serde(rename = "scales")]
    Scales9,
    /// General affine map.
    #[serde(rename = "affine")]
    Affine12,
}

impl Dof {
    /// All models of the transform, from few to many degrees of freedom.
    pub const ALL: [Dof; 5] = [Dof::Translation3, Dof::Rigid6, Dof::Similarity7, Dof::Scales9, Dof::Affine12];

    /// Number of degrees of freedom of the model, for volumes or for slices.
    pub fn number(self, slices: bool) -> u8 {
        match (self, slices) {
            (Dof::Translation3, false) => 3,
            (Dof::Rigid6, false) => 6,
            (Dof::Similarity7, false) => 7,
            (Dof::Scales9, false) => 9,
            (Dof::Affine12, false) => 12,
            (Dof::Translation3, true) => 2,
            (Dof::Rigid6, true) => 3,
            (Dof::Similarity7, true) => 4,
            (Dof::Scales9, true) => 5,
            (Dof::Affine12, true) => 6,
        }
    }

    /// The name under which the observer gets reports on the search step that optimises over these degrees of freedom.
    pub(crate) fn search_step(self) -> SearchStep {
        SearchStep::DegreesOfFreedom(self.number(false))
    }
}

/// The search of the coarsest level: for the orientation of the moving image or, with a translation model, for the
/// translation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// A coarse search over rotations, then refinement. A translation model has a search over translations instead.
    Angles(AngleSearch),
    /// No search: only the start transform is refined.
    None,
}

/// Which rotations, relative to the start, the coarse search evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AngleSearch {
    /// Range of the angles about x, y and z, degrees: from minus to plus these values, within
    /// [`AngleSearch::RANGE_DEGREES`].
    pub range_degrees: [f64; 3],
    /// Step between the rotations for which translation and scale are optimised, degrees, within
    /// [`AngleSearch::STEP_DEGREES`].
    pub coarse_step_degrees: f64,
    /// Step between the rotations for which only the cost is evaluated, degrees, within [`AngleSearch::STEP_DEGREES`].
    pub fine_step_degrees: f64,
    /// Whether the search also evaluates the four rotations that align the principal axes of both images, even outside
    /// the range. These rotations find a brain in any orientation.
    pub principal_axes: bool,
}

impl AngleSearch {
    /// Allowed values of the range of angles, degrees.
    pub const RANGE_DEGREES: RangeInclusive<f64> = 0.0..=180.0;
    /// Allowed steps between rotations, degrees.
    pub const STEP_DEGREES: RangeInclusive<f64> = 1.0..=180.0;

    /// The search for the orientation of a slice: over all angles about the slice's normal.
    pub fn of_slices() -> AngleSearch {
        AngleSearch { range_degrees: [0.0, 0.0, 180.0], ..AngleSearch::default() }
    }

    /// Checks that the range and the steps of the angles are allowed.
    ///
    /// # Errors
    /// [`Error::AngleRange`] and [`Error::AngleStep`].
    pub fn check(&self) -> Result<(), Error> {
        if !self.range_degrees.iter().all(|angle| Self::RANGE_DEGREES.contains(angle)) {
            return Err(Error::AngleRange(self.range_degrees));
        }
        match [self.coarse_step_degrees, self.fine_step_degrees]
            .iter()
            .find(|step| !Self::STEP_DEGREES.contains(step))
        {
            Some(step) => Err(Error::AngleStep(*step)),
            None => Ok(()),
        }
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

/// The local optimiser of the linear stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Optimiser {
    /// Line searches along one parameter after the other, then Newton steps.
    ///
    /// The line searches along the parameters are those of FLIRT (Jenkinson & Smith 2001).
    #[default]
    Flirt,
    /// Powell's method with a limited resolution of the parameters.
    ///
    /// The search evaluates no two points that differ by less than 0.05° in all angles, by less than 0.02 mm in all
    /// translations, and by similarly little in scales and skews. These limits are multiplied by the level's voxel size
    /// in mm. Reference: Shams 2010, section 3.7.
    Powell,
    /// Steepest descent.
    ///
    /// Reference: Sun 2010.
    Descent,
}

/// Formats the optimiser's name as on the command line, such as "powell".
impl fmt::Display for Optimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Options of the linear stage. The defaults are those of FLIRT with the correlation ratio.
///
/// In deserialisation, a missing field has its default and an unknown field is an error. [`Options::check`] checks
/// the ranges, and so does every function that takes options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Model of the transform, by its degrees of freedom.
    pub dof: Dof,
    /// The search for the orientation of the moving image.
    pub search: Search,
    /// The local optimiser that refines each candidate (a set of transform parameters).
    pub optimiser: Optimiser,
    /// The cost function that is minimised.
    pub cost: Cost,
    /// How the joint histogram of the intensities of both images is filled, for costs that have a joint histogram.
    pub histogram: JointSampling,
    /// Number of intensity bins on the 1 mm level, for costs that have bins, within [`Options::BINS`]. If this number
    /// is n, a level with voxels of s mm has n / s bins. The joint histogram of volumes has n / √s bins along either
    /// axis.
    pub bins: usize,
    /// Voxel size of the finest level, mm in a human head: one of [`Options::LEVELS_MM`]. For objects of another size, all
    /// levels are multiplied by their [`Unit`](antsreg_core::Unit). A level finer than the voxels of the images is
    /// skipped.
    pub finest_mm: f64,
    /// Robust range of intensities, as two shares of voxels (low < high, within [`Options::SHARES`]). Intensities are
    /// clamped to the quantiles of these shares.
    pub robust_shares: [f64; 2],
    /// Options of a boundary-based registration after the search. It needs the white matter of the fixed image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dof: Dof::Affine12,
            search: Search::Angles(AngleSearch::default()),
            optimiser: Optimiser::default(),
            cost: Cost::CorrelationRatio,
            histogram: JointSampling::PartialVolume,
            bins: Cost::CorrelationRatio.default_bins(),
            finest_mm: 1.0,
            robust_shares: [0.02, 0.98],
            boundary: None,
        }
    }
}

impl Options {
    /// Allowed numbers of intensity bins on the 1 mm level.
    pub const BINS: RangeInclusive<usize> = JointParameters::BINS;
    /// All resolution levels, mm in a human head, coarsest first. These are the allowed values of `finest_mm`.
    pub const LEVELS_MM: [f64; 4] = [8.0, 4.0, 2.0, 1.0];
    /// Allowed shares of voxels for the robust range.
    pub const SHARES: RangeInclusive<f64> = 0.0..=1.0;

    /// The default options for a cost function.
    pub fn of(cost: Cost) -> Options {
        Options { cost, bins: cost.default_bins(), ..Options::default() }
    }

    /// A copy of the options with another cost function and with the default number of bins of that function.
    pub fn with_cost(self, cost: Cost) -> Options {
        let bins = if cost == self.cost { self.bins } else { cost.default_bins() };
        Options { cost, bins, ..self }
    }

    /// Whether these options let a search exchange the roles of the images. Local searches, translations, models with a
    /// scale along each axis of the moving image, and least squares keep the given roles. So do searches whose
    /// ranges of angles differ between the axes, because these are the axes of the moving image.
    pub(crate) fn may_exchange(&self) -> bool {
        let Search::Angles(AngleSearch { range_degrees: [x, y, z], .. }) = self.search else { return false };
        let model = matches!(self.dof, Dof::Rigid6 | Dof::Similarity7 | Dof::Affine12);
        model && self.cost != Cost::LeastSquares && x == y && y == z
    }

    /// Whether the cost comes from a joint histogram that is filled by partial-volume interpolation.
    pub(crate) fn joins_partial_volumes(&self) -> bool {
        self.cost.has_joint_histogram() && self.histogram == JointSampling::PartialVolume
    }

    /// Checks that all options of the linear stage are in range.
    ///
    /// # Errors [`Error::Bins`], [`Error::FinestLevel`], [`Error::RobustShares`], [`Error::AngleRange`] and
    /// [`Error::AngleStep`].
    pub fn check(&self) -> Result<(), Error> {
        if !Self::BINS.contains(&self.bins) {
            return Err(Error::Bins { found: self.bins });
        }
        if !Self::LEVELS_MM.contains(&self.finest_mm) {
            return Err(Error::FinestLevel(self.finest_mm));
        }
        let [low, high] = self.robust_shares;
        if !Self::SHARES.contains(&low) || !Self::SHARES.contains(&high) || low >= high {
            return Err(Error::RobustShares(self.robust_shares));
        }
        match &self.search {
            Search::Angles(angles) => angles.check()?,
            Search::None => {}
        }
        self.boundary.as_ref().map_or(Ok(()), Boundary::check)
    }
}

#[cfg(test)]
mod tests;
