//! Measures how long a registration on the CPU runs on after it was told to stop: `stop_latency FIXED MOVING`.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use antsreg_core::io::nifti;
use antsreg_core::report::{Observer, Report};
use antsreg_register::{Device, Error, Preset, Progress, Recipe, Side, register};

/// Stops at the first call after a time, and keeps the longest time between two calls.
struct Stop {
    at: Option<Duration>,
    start: Instant,
    last: Instant,
    longest: Duration,
}

impl Stop {
    fn called(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
        match self.at {
            Some(at) if now - self.start > at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Observer for Stop {
    fn report(&mut self, _: &Report) -> ControlFlow<()> {
        self.called()
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
        let mut stop = Stop { at, start, last: start, longest: Duration::ZERO };
        let stopped = match register(&fixed, &moving, &options, &Device::cpu(), &mut stop) {
            Ok(_) => false,
            Err(Error::Stopped) => true,
            Err(error) => return Err(error),
        };
        Ok((stopped, start.elapsed(), stop.longest))
    };
    let (_, whole, longest) = run(None)?;
    println!("whole registration: {whole:.2?}; longest time between two calls: {longest:.3?}");
    for tenth in 1..10 {
        let at = whole * tenth / 10;
        let (stopped, end, _) = run(Some(at))?;
        println!("told to stop after {at:.2?}: stopped {stopped}, ended {:.3?} later", end.saturating_sub(at));
    }
    Ok(())
}
