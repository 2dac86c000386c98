//! Progress reports of a running registration, and the observer that receives them and can stop the run.
//!
//! Registration stages never print. A caller that wants to show progress passes an [`Observer`].

use std::fmt;
use std::ops::ControlFlow;

/// A stage of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A linear stage: it optimises a translation, a rigid or another linear model up to affine.
    Linear,
    /// A deformable stage: symmetric diffeomorphic registration.
    Deformable,
}

/// The part of a registration stage to which a progress report belongs: one resolution level, or one step of the search
/// on that level. Reports of the same part differ only in iteration and cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A step of the search for a linear transform, up to affine.
    Linear {
        /// Voxel size of the resolution level, mm.
        mm: f64,
        /// Kind of this step of the search for a linear transform.
        search: SearchStep,
    },
    /// A resolution level of a deformable registration stage.
    Deformable {
        /// Shrink factor of the level: its grid is coarser than the full one by this factor.
        shrink: usize,
    },
}

impl Step {
    /// The registration stage to which this step belongs.
    pub fn stage(&self) -> Stage {
        match self {
            Step::Linear { .. } => Stage::Linear,
            Step::Deformable { .. } => Stage::Deformable,
        }
    }
}

/// Formats a step as text such as "8 mm, orientations" or "shrink 4".
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Linear { mm, search } => write!(f, "{mm} mm, {search}"),
            Step::Deformable { shrink } => write!(f, "shrink {shrink}"),
        }
    }
}

/// Kind of a step of the linear stage's search on one resolution level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStep {
    /// Optimisation of orientations over the whole range of angles.
    Orientations,
    /// The initial transform alone, without rotated copies. Its cost is evaluated; if the search tries no orientations,
    /// the transform is also optimised.
    Start,
    /// Optimisation of shifted copies of the initial transform, for models without rotation.
    Translations,
    /// Optimisation that starts from the best orientations of the coarser resolution level, and from the given initial
    /// transforms.
    BestOrientations,
    /// Optimisation of transforms near the best orientations, rotated and scaled a little.
    Neighbours,
    /// Optimisation of a linear transform with this number of degrees of freedom: for rigid, for instance, 6. In
    /// slices, the number of the same model in three dimensions is given.
    DegreesOfFreedom(u8),
    /// Optimisation over all degrees of freedom of the linear transform together.
    AllTogether,
}

/// Formats a search step as text such as "orientations" or "12 degrees of freedom".
impl fmt::Display for SearchStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchStep::Orientations => "orientations",
            SearchStep::Start => "start",
            SearchStep::Translations => "translations",
            SearchStep::BestOrientations => "best orientations",
            SearchStep::Neighbours => "their neighbours",
            SearchStep::DegreesOfFreedom(number) => return write!(f, "{number} degrees of freedom"),
            SearchStep::AllTogether => "all together",
        })
    }
}

/// The state of a stage after one iteration, or after one step of its search.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The search step or resolution level of the registration to which this report belongs.
    pub step: Step,
    /// Index of the resolution level; the coarsest level has index 0.
    pub level: usize,
    /// Number of resolution levels.
    pub levels: usize,
    /// Number of iterations that the registration has finished on this resolution level.
    pub iteration: usize,
    /// Largest number of iterations of the registration on this resolution level.
    pub iterations: usize,
    /// Value of the cost after the iteration; lower is better.
    pub energy: f64,
}

/// Receives the reports of a running stage, and can stop it.
///
/// On [`ControlFlow::Break`] from either method the stage returns its error for a stopped run at once, and calls neither
/// method again.
pub trait Observer {
    /// Receives the report of an iteration of the registration, or of a step of its search, that has ended.
    fn report(&mut self, report: &Report) -> ControlFlow<()>;

    /// Lets the caller stop the run between reports: the method is called between small pieces of work, such as
    /// batches of cost evaluations. By default the run continues.
    fn poll(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// An observer (receiver of progress reports) that ignores all reports and never stops a registration.
impl Observer for () {
    fn report(&mut self, _: &Report) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_shown_by_level_and_name() {
        let linear = |mm, search| Step::Linear { mm, search };
        assert_eq!(linear(8.0, SearchStep::Orientations).to_string(), "8 mm, orientations");
        assert_eq!(linear(4.0, SearchStep::Neighbours).to_string(), "4 mm, their neighbours");
        assert_eq!(linear(1.0, SearchStep::DegreesOfFreedom(9)).to_string(), "1 mm, 9 degrees of freedom");
        assert_eq!(Step::Deformable { shrink: 4 }.to_string(), "shrink 4");
    }

    #[test]
    fn a_step_knows_its_stage() {
        assert_eq!(Step::Linear { mm: 1.0, search: SearchStep::Start }.stage(), Stage::Linear);
        assert_eq!(Step::Deformable { shrink: 1 }.stage(), Stage::Deformable);
    }
}
