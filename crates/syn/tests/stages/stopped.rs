//! Tests of observers that stop a registration.

use std::ops::ControlFlow;

use antsreg_core::report::{Observer, Report};
use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::Cpu;
use antsreg_syn::{Channel, Error, Options, Outcome, register};

use crate::levels;
use crate::scene::{self, brain, displacement, sampled};

/// A test observer that stops the run at the call with this number. Reports and polls are counted together.
struct StopsAt {
    call: usize,
    calls: usize,
    reports: usize,
}

impl StopsAt {
    fn flow(&mut self) -> ControlFlow<()> {
        self.calls += 1;
        if self.calls == self.call { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer for StopsAt {
    fn report(&mut self, _: &Report) -> ControlFlow<()> {
        self.reports += 1;
        self.flow()
    }

    fn poll(&mut self) -> ControlFlow<()> {
        self.flow()
    }
}

#[test]
fn a_registration_stops_at_whichever_call_breaks() {
    let grid = Grid { shape: [16, 18, 14], ..scene::grid() };
    let (fixed, moving) = (sampled(&grid, brain), sampled(&grid, |p| brain(p + displacement(p))));
    let options = Options {
        channels: vec![Channel::default(); 2],
        edge_weight: 0.2,
        levels: levels(&[(2, 1.0, 3), (1, 0.0, 2)]),
        ..Options::default()
    };
    let side = |volume| vec![volume; 2];
    let run = |call: usize| -> (Result<Outcome, Error>, StopsAt) {
        let mut observer = StopsAt { call, calls: 0, reports: 0 };
        let identity = AffineTransform::identity();
        (register(&Cpu, side(&fixed), side(&moving), &identity, &options, &mut observer), observer)
    };
    let (whole, StopsAt { calls, reports, .. }) = run(usize::MAX);
    assert!(whole.is_ok());
    assert_eq!(reports, 5);
    // The registration must poll the observer several times in each iteration.
    assert!(calls > 5 * 10, "{calls} calls");
    for call in 1..=calls {
        let (stopped, observer) = run(call);
        assert!(matches!(stopped, Err(Error::Stopped)), "at call {call} of {calls}");
        assert_eq!(observer.calls, call, "it was called again after it had stopped");
    }
    assert!(run(calls + 1).0.is_ok());
}
