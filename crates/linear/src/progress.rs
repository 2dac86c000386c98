//! Reports the steps of the search to the observer, and stops the search if the observer asks for it.

use std::ops::ControlFlow;

use antsreg_core::report::{Observer, Report, SearchStep, Step};

use crate::Error;
use crate::lockstep::Candidate;

/// Largest number of search steps on one level.
const STEPS: usize = 5;

/// Passes the progress of a linear registration to the caller's observer, which may stop the run. Knows the current
/// resolution level and step of the search.
pub(crate) struct Progress<'a> {
    observer: &'a mut dyn Observer,
    level: usize,
    levels: usize,
    mm: f64,
    step: usize,
}

impl<'a> Progress<'a> {
    pub fn new(observer: &'a mut dyn Observer) -> Self {
        Progress { observer, level: 0, levels: 0, mm: 0.0, step: 0 }
    }

    /// Notes that a resolution level begins: number `level` of `levels`, with voxels of `mm`. Returns an error if the
    /// observer stops the run.
    pub fn begin(&mut self, level: usize, levels: usize, mm: f64) -> Result<(), Error> {
        (self.level, self.levels, self.mm, self.step) = (level, levels, mm, 0);
        self.poll()
    }

    /// Asks the caller's observer whether to continue. Returns an error if it stops the run.
    pub fn poll(&mut self) -> Result<(), Error> {
        go_on(self.observer.poll())
    }

    /// Reports a finished search step to the observer, with the lowest cost of its candidates.
    pub fn report(&mut self, search: SearchStep, candidates: &[Candidate]) -> Result<(), Error> {
        self.step += 1;
        go_on(self.observer.report(&Report {
            step: Step::Linear { mm: self.mm, search },
            level: self.level,
            levels: self.levels,
            iteration: self.step,
            iterations: STEPS,
            energy: candidates.iter().map(|candidate| candidate.cost).fold(1.0, f64::min),
        }))
    }
}

/// Returns an error if the observer has stopped the run.
fn go_on(flow: ControlFlow<()>) -> Result<(), Error> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}
