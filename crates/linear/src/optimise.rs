//! Local optimisation on a level.

use antsreg_kernels::Backend;

use crate::coordinate_search::{SWEEPS, descend};
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, Parameters, directions, tolerances};
use crate::polish::{Curvature, polish};
use crate::{Dof, Error};

/// Newton steps on a level, at most.
const NEWTON_STEPS: usize = 8;

/// Candidates closer than this would end in one place, tolerances of the level.
const NEAR: f64 = 2.0;

impl<B: Backend> Level<'_, B> {
    /// Each start, optimised over these degrees of freedom one direction at a time; in the order of the starts.
    pub fn optimise(&self, frame: &Frame, starts: &[Parameters], dof: Dof) -> Result<Vec<Candidate>, Error> {
        descend(starts, &directions(dof, self.mm), SWEEPS, |batch| self.costs(frame, batch))
    }

    /// Each start, optimised over these degrees of freedom together, and the curvature there; best first.
    pub fn polish(
        &self,
        frame: &Frame,
        starts: &[Parameters],
        dof: Dof,
        known: Option<&Curvature>,
    ) -> Result<Vec<(Candidate, Option<Curvature>)>, Error> {
        polish(starts, &directions(dof, self.mm), NEWTON_STEPS, known, |batch| self.costs(frame, batch))
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
