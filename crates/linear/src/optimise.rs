//! Local optimisation of candidates (sets of transform parameters with their cost) on one resolution level.

use antsreg_kernels::Backend;

use crate::coordinate_search::{self, SWEEPS};
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Direction, Frame, Parameters, tolerances};
use crate::polish::{Curvature, Rejected, polish};
use crate::progress::Progress;
use crate::{Dof, Error, Optimiser, descent, powell};

/// Largest number of Newton steps on a level.
const NEWTON_STEPS: usize = 8;

/// Number of sweeps of line searches for a rough optimisation, which Newton steps follow.
const FEW_SWEEPS: usize = 2;

/// Two candidates (sets of transform parameters) closer than this are assumed to have the same minimum; in units of the
/// parameters' tolerances on the level.
const NEAR: f64 = 2.0;

impl<B: Backend> Level<'_, B> {
    /// Optimises the transform parameters from each start over the degrees of freedom `dof` of the transform. Returns
    /// the optimised parameters and their costs in the order of the starts.
    pub fn optimise(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        self.optimise_along(frame, starts, &frame.directions(dof, self.mm), SWEEPS, progress)
    }

    /// Optimises the parameters from each start roughly, but well enough to compare the results. Returns the results in
    /// the order of the starts.
    pub fn approach(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        self.optimise_along(frame, starts, &frame.directions(dof, self.mm), FEW_SWEEPS, progress)
    }

    /// Optimises the parameters from each start along the given directions with the optimiser that the options name.
    /// Returns the results in the order of the starts.
    pub fn optimise_along(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        directions: &[Direction],
        sweeps: usize,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        let costs = |batch: &[Parameters]| self.costs(frame, batch, progress);
        match self.optimiser {
            Optimiser::Flirt => coordinate_search::descend(starts, directions, sweeps, costs),
            Optimiser::Powell => powell::minimise(starts, directions, self.mm, costs),
            Optimiser::Descent => descent::minimise(starts, directions, costs),
        }
    }

    /// Optimises the parameters from each start over the degrees of freedom `dof` until convergence. Returns the
    /// results, best first, each with the curvature of the cost if the optimiser measures the curvature.
    pub fn polish(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        known: Option<&Curvature>,
        rejected: Rejected,
        progress: &mut Progress,
    ) -> Result<Vec<(Candidate, Option<Curvature>)>, Error> {
        if self.optimiser == Optimiser::Flirt {
            return polish(starts, &frame.directions(dof, self.mm), NEWTON_STEPS, known, rejected, |batch| {
                self.costs(frame, batch, progress)
            });
        }
        let mut found = self.optimise(frame, starts, dof, progress)?;
        best_first(&mut found);
        Ok(found.into_iter().map(|candidate| (candidate, None)).collect())
    }

    /// Returns the best candidates, at most `count`; candidates close to a better candidate are left out.
    pub fn distinct(&self, candidates: &[Candidate], count: usize) -> Vec<Candidate> {
        let mut sorted = candidates.to_vec();
        best_first(&mut sorted);
        let mut kept: Vec<Candidate> = Vec::with_capacity(count);
        for candidate in sorted {
            let near = |other: &Candidate| tolerances(&candidate.parameters, &other.parameters, self.mm) < NEAR;
            if kept.len() < count && !kept.iter().any(near) {
                kept.push(candidate);
            }
        }
        kept
    }
}
