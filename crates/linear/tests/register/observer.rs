//! Tests of the reports to an observer, and of registrations that an observer stops.

use std::ops::ControlFlow;

use antsreg_core::report::{Observer, Report, SearchStep, Stage, Step};
use antsreg_core::{Grid, Volume};
use antsreg_kernels::{Cpu, JointSampling};
use antsreg_linear::{AngleSearch, Cost, Dof, Error, Options, Search, Start, register};

use crate::object::{affine, fixed, fixed_grid, sampled};

/// An observer that counts its calls and stops the run at a given call.
#[derive(Default)]
struct Breaking {
    reports: Vec<Report>,
    calls: usize,
    last: Option<usize>,
}

impl Breaking {
    fn at(last: usize) -> Breaking {
        Breaking { last: Some(last), ..Breaking::default() }
    }

    fn called(&mut self) -> ControlFlow<()> {
        self.calls += 1;
        if self.last == Some(self.calls) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer for Breaking {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        self.reports.push(report.clone());
        self.called()
    }

    fn poll(&mut self) -> ControlFlow<()> {
        self.called()
    }
}

/// A fixed and a moving image with few voxels, so that many registrations take little time.
fn images() -> [Volume; 2] {
    let mut grid = fixed_grid();
    grid.shape = [18, 22, 17];
    grid.spacing *= 2.0;
    [affine([0.0; 3], [1.0; 3], [0.0; 3]), affine([3.0, -4.0, 5.0], [1.0; 3], [6.0, -5.0, 4.0])]
        .map(|truth| sampled(grid.clone(), &truth))
}

fn few_angles() -> Search {
    Search::Angles(AngleSearch {
        range_degrees: [10.0, 0.0, 10.0],
        fine_step_degrees: 10.0,
        ..AngleSearch::default()
    })
}

#[test]
fn a_break_at_any_call_stops_at_once() {
    let [fixed, moving] = images();
    let joint = Options { histogram: JointSampling::PartialVolume, ..Options::of(Cost::MutualInformation) };
    for options in [
        Options { search: few_angles(), ..Options::default() },
        Options { dof: Dof::Rigid6, search: Search::None, ..joint },
        Options { dof: Dof::Translation3, ..Options::default() },
    ] {
        let run = |observer: &mut Breaking| {
            register(&Cpu, &fixed, &moving, None, None, &options, Start::CentreOfMass, observer)
        };
        let mut counting = Breaking::default();
        let found = run(&mut counting).expect("a registration");
        assert!(counting.calls > counting.reports.len() + 20, "{} calls", counting.calls);
        for last in 1..=counting.calls {
            let mut breaking = Breaking::at(last);
            let stopped = run(&mut breaking);
            assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?} from a break at call {last}");
            assert_eq!(breaking.calls, last, "called again after a break");
            let before = breaking.reports.len();
            assert_eq!(breaking.reports, counting.reports[..before], "other reports before call {last}");
        }
        assert_eq!(run(&mut Breaking::at(counting.calls + 1)).expect("a registration"), found);
    }
}

/// The reported steps of a registration with this number of levels: the number of the level, its voxels in mm, and what
/// was searched.
fn steps([fixed, moving]: [&Volume; 2], options: &Options, levels: usize) -> Vec<(usize, f64, SearchStep)> {
    let mut observer = Breaking::default();
    register(&Cpu, fixed, moving, None, None, options, Start::CentreOfMass, &mut observer).expect("a registration");
    let reports = observer.reports;
    assert!(reports.iter().all(|report| report.levels == levels && report.step.stage() == Stage::Linear));
    assert!(reports.iter().all(|report| (1..=report.iterations).contains(&report.iteration)));
    assert!(reports.iter().all(|report| (0.0..1.0).contains(&report.energy)));
    let step = |report: &Report| match report.step {
        Step::Linear { mm, search } => (report.level, mm, search),
        Step::Deformable { .. } => panic!("no step of the linear stage: {report:?}"),
    };
    reports.iter().map(step).collect()
}

#[test]
fn fine_levels_only_refine() {
    let mut grid = Grid::axis_aligned([74, 90, 68], [2.0; 3]);
    grid.origin = fixed_grid().origin;
    let images = [affine([0.0; 3], [1.0; 3], [0.0; 3]), affine([3.0, -4.0, 5.0], [1.0; 3], [6.0, -5.0, 4.0])];
    let [fixed, moving] = images.map(|map| sampled(grid.clone(), &map));
    for search in [few_angles(), Search::None] {
        let options = Options { dof: Dof::Rigid6, search, ..Options::default() };
        let mut fine = steps([&fixed, &moving], &options, 3);
        fine.retain(|(level, ..)| *level == 2);
        let refines = |(_, mm, search): &(usize, f64, SearchStep)| {
            *mm == 2.0 && matches!(search, SearchStep::DegreesOfFreedom(6) | SearchStep::AllTogether)
        };
        assert!(!fine.is_empty() && fine.iter().all(refines), "{search:?}: {fine:?}");
    }
}

#[test]
fn each_step_of_the_search_is_reported() {
    let moving = sampled(fixed_grid(), &affine([3.0, -4.0, 5.0], [1.05, 1.0, 0.95], [6.0, -5.0, 4.0]));
    let steps = |options: &Options| steps([&fixed(), &moving], options, 2);
    use SearchStep::{AllTogether, BestOrientations, DegreesOfFreedom, Neighbours, Orientations, Translations};
    let searching = Options { search: few_angles(), ..Options::default() };
    assert_eq!(
        steps(&searching),
        [
            (0, 8.0, Orientations),
            (1, 4.0, BestOrientations),
            (1, 4.0, Neighbours),
            (1, 4.0, DegreesOfFreedom(9)),
            (1, 4.0, AllTogether),
            (1, 4.0, AllTogether),
        ]
    );
    assert_eq!(
        steps(&Options { dof: Dof::Translation3, ..Options::default() }),
        [(0, 8.0, Translations), (1, 4.0, Translations), (1, 4.0, AllTogether), (1, 4.0, AllTogether)]
    );
    assert_eq!(
        steps(&Options { dof: Dof::Rigid6, search: Search::None, ..Options::default() }),
        [
            (0, 8.0, SearchStep::Start),
            (1, 4.0, SearchStep::Start),
            (1, 4.0, DegreesOfFreedom(6)),
            (1, 4.0, AllTogether)
        ]
    );
}
