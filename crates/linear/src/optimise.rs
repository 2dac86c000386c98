//! Local optimisation on a level.

use antsreg_kernels::Backend;

use crate::coordinate_search::{self, SWEEPS};
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Direction, Frame, Parameters, along, tolerances};
use crate::polish::{Curvature, Rejected, polish};
use crate::progress::Progress;
use crate::{Dof, Error, Optimiser, descent, powell};

/// Newton steps on a level, at most.
const NEWTON_STEPS: usize = 8;

/// Sweeps over the directions where Newton steps follow.
const FEW_SWEEPS: usize = 2;

/// Candidates closer than this have the same minimum, tolerances of the level.
const NEAR: f64 = 2.0;

impl<B: Backend> Level<'_, B> {
    /// Each start, optimised over these degrees of freedom; in the order of the starts.
    pub fn optimise(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        self.optimise_along(frame, starts, &frame.directions(dof, self.mm), SWEEPS, progress)
    }

    /// Each start, optimised roughly: near enough to its minimum to choose among them; in the order of the starts.
    pub fn approach(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        self.optimise_along(frame, starts, &frame.directions(dof, self.mm), FEW_SWEEPS, progress)
    }

    /// Each start, optimised along these directions by the optimiser of the options; in the order of the starts.
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

    /// Each start, optimised over these degrees of freedom until it has converged, with the curvature there if the optimiser
    /// measures it; best first.
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

    /// The best of the points one tolerance to both sides of a candidate along each direction, where it costs less: of a
    /// minimum there is none.
    pub fn lower_beside(
        &self,
        frame: &Frame,
        candidate: &Candidate,
        dof: Dof,
        progress: &mut Progress,
    ) -> Result<Option<Candidate>, Error> {
        let directions = frame.directions(dof, self.mm);
        let beside =
            directions.iter().flat_map(|direction| [-1.0, 1.0].map(|at| along(&candidate.parameters, direction, at)));
        let found = self.rated(frame, beside, progress)?.into_iter().next();
        Ok(found.filter(|found| found.cost < candidate.cost))
    }

    /// The best of the candidates, at most `count`, none of them close to a better one.
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
