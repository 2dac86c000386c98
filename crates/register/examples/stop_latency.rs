//! Measures how long a registration on the CPU continues after it was told to stop: `stop_latency FIXED MOVING`.
//!
//! Prints the longest times between two calls of the observer. For nine moments during the run, it prints the time from
//! the request to stop until the next call of the observer, and from this call until the registration returned.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use antsreg_core::io::nifti;
use antsreg_core::report::{Observer, Report, Step};
use antsreg_register::{Device, Error, Preset, Progress, Recipe, Registered, Side, register};

/// An observer that stops the run at its first call after a given time, and records the times between calls.
struct Stop {
    at: Option<Duration>,
    start: Instant,
    last: Instant,
    /// Times between two successive calls of the observer, each with the step of the registration that was reported in
    /// the earlier call.
    gaps: Vec<(Duration, Option<Step>)>,
    step: Option<Step>,
}

impl Stop {
    fn called(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        self.gaps.push((now - self.last, self.step));
        self.last = now;
        match self.at {
            Some(at) if now - self.start > at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Observer for Stop {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        let flow = self.called();
        self.step = Some(report.step);
        flow
    }

    fn poll(&mut self) -> ControlFlow<()> {
        self.called()
    }
}

impl Progress for Stop {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let mut read = || -> Result<Side, Box<dyn std::error::Error>> {
        let path = paths.next().ok_or("usage: stop_latency FIXED MOVING")?;
        Ok(Side::from(nifti::read_volume(path.as_ref())?))
    };
    let (fixed, moving) = (read()?, read()?);
    let options = Recipe::new(Preset::Default).options(fixed.grid().shape)?;
    let run = |at: Option<Duration>| {
        let start = Instant::now();
        let mut stop = Stop { at, start, last: start, gaps: Vec::new(), step: None };
        let stopped =
            match register(&fixed, &moving, &options, &Device::cpu(), &mut stop).and_then(Registered::finish) {
                Ok(_) => false,
                Err(Error::Stopped) => true,
                Err(error) => return Err(error),
            };
        Ok((stopped, start.elapsed(), stop))
    };
    let (_, whole, mut stop) = run(None)?;
    stop.gaps.push((whole - (stop.last - stop.start), stop.step));
    stop.gaps.sort_by_key(|(gap, _)| std::cmp::Reverse(*gap));
    println!("the whole registration took {whole:.2?}; longest times between two calls of the observer:");
    for (gap, step) in stop.gaps.iter().take(8) {
        println!("  {gap:.3?} after {step:?}");
    }
    for tenth in 1..10 {
        let at = whole * tenth / 10;
        let (stopped, end, stop) = run(Some(at))?;
        let called = stop.last - stop.start;
        let (waited, returned) = (called.saturating_sub(at), end - called);
        println!(
            "request to stop after {at:.2?} (registration stopped: {stopped}): the observer was called {waited:.3?} \
             after the request, and the registration returned {returned:.3?} after this call"
        );
    }
    Ok(())
}
