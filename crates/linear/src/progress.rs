//! Tells the observer which step of the search has ended.

use antsreg_core::report::{Observer, Report, Stage};

use crate::lockstep::Candidate;

/// Steps a level takes at most.
const STEPS: usize = 5;

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

    /// A level begins.
    pub fn begin(&mut self, level: usize, levels: usize, mm: f64) {
        (self.level, self.levels, self.mm, self.step) = (level, levels, mm, 0);
    }

    /// A step has ended with these candidates.
    pub fn report(&mut self, what: &str, candidates: &[Candidate]) {
        self.step += 1;
        self.observer.report(&Report {
            stage: Stage::Linear,
            level: self.level,
            levels: self.levels,
            what: format!("{} mm, {what}", self.mm),
            iteration: self.step,
            iterations: STEPS,
            energy: candidates.iter().map(|candidate| candidate.cost).fold(1.0, f64::min),
        });
    }
}
