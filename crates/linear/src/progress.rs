//! Reports the steps of the search to the observer, and stops the search if the observer asks for it.

use std::ops::ControlFlow;

use antsreg_core::Unit;
use antsreg_core::report::{Observer, Report, SearchStep, Step};

use crate::Error;
use crate::lockstep::Candidate;

/// Largest number of search steps on one level.
const STEPS: usize = 5;

/// Passes the progress of a linear registration to the caller's observer, which may stop the run. Knows the current
/// resolution level and step of the search.
pub(crate) struct Progress<'a> {
    observer: &'a mut dyn Observer,
    /// The unit of the voxel sizes that the search gives; reports have mm.
    unit: Unit,
    level: usize,
    levels: usize,
    mm: f64,
    step: usize,
}

impl<'a> Progress<'a> {
    pub fn new(observer: &'a mut dyn Observer, unit: Unit) -> Self {
        Progress { observer, unit, level: 0, levels: 0, mm: 0.0, step: 0 }
    }

    /// Notes that a resolution level begins: number `level` of `levels`, with voxels of `mm` in the search's unit. Returns an
    /// error if the observer stops the run.
    pub fn begin(&mut self, level: usize, levels: usize, mm: f64) -> Result<(), Error> {
        (self.level, self.levels, self.mm, self.step) = (level, levels, mm * self.unit.mm(), 0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::IDENTITY;

    /// An observer that keeps the reports and breaks at every call if it is told to.
    struct Kept {
        reports: Vec<Report>,
        breaks: bool,
    }

    impl Observer for Kept {
        fn report(&mut self, report: &Report) -> ControlFlow<()> {
            self.reports.push(report.clone());
            self.poll()
        }

        fn poll(&mut self) -> ControlFlow<()> {
            if self.breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[test]
    fn steps_are_counted_on_each_level_and_reported_with_the_lowest_cost() {
        let mut observer = Kept { reports: Vec::new(), breaks: false };
        let mut progress = Progress::new(&mut observer, Unit::MILLIMETRE);
        let candidates = [0.5, 0.25, 0.75].map(|cost| Candidate { parameters: IDENTITY, cost });
        progress.begin(0, 2, 8.0).expect("it goes on");
        progress.report(SearchStep::Orientations, &candidates).expect("it goes on");
        progress.report(SearchStep::Neighbours, &candidates[..1]).expect("it goes on");
        progress.begin(1, 2, 4.0).expect("it goes on");
        progress.report(SearchStep::Start, &[]).expect("it goes on");
        let found: Vec<_> = observer.reports.iter().map(|r| (r.level, r.levels, r.iteration, r.energy)).collect();
        assert_eq!(found, [(0, 2, 1, 0.25), (0, 2, 2, 0.5), (1, 2, 1, 1.0)]);
        let step = |mm, search| Step::Linear { mm, search };
        assert!(observer.reports[1].step == step(8.0, SearchStep::Neighbours));
        assert!(observer.reports[2].step == step(4.0, SearchStep::Start));
    }

    #[test]
    fn a_break_stops_at_every_call() {
        let mut observer = Kept { reports: Vec::new(), breaks: true };
        let mut progress = Progress::new(&mut observer, Unit::MILLIMETRE);
        assert!(matches!(progress.begin(0, 2, 8.0), Err(Error::Stopped)));
        assert!(matches!(progress.poll(), Err(Error::Stopped)));
        assert!(matches!(progress.report(SearchStep::Start, &[]), Err(Error::Stopped)));
    }
}
