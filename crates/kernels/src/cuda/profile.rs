//! Measures the times of kernels on the device.

use std::collections::BTreeMap;

use cust::event::{Event, EventFlags};
use cust::stream::Stream;

use super::driver::driver_error;
use crate::Error;

/// Times and number of all launches of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTime {
    /// Name of the kernel.
    pub name: &'static str,
    /// Number of launches of the kernel.
    pub launches: usize,
    /// Total time on the device of all launches of the kernel, seconds.
    pub seconds: f64,
    /// Time of the kernel's shortest launch, seconds.
    pub fastest: f64,
    /// Median time of the kernel's launches, seconds.
    pub median: f64,
    /// Smallest number of bytes that all launches of the kernel together read and write.
    pub bytes: u64,
}

/// Records CUDA events before and after every launch while profiling is on.
#[derive(Default)]
pub(super) struct Profile {
    on: bool,
    launches: Vec<Timed>,
}

struct Timed {
    name: &'static str,
    bytes: u64,
    start: Event,
    end: Event,
}

pub(super) fn new_event() -> Result<Event, Error> {
    Event::new(EventFlags::DEFAULT).map_err(|error| driver_error("profile", error))
}

impl Profile {
    pub(super) fn start(&mut self) {
        self.on = true;
        self.launches.clear();
    }

    /// Records the start of a launch if profiling is on. Returns whether the end of the launch must be recorded too.
    pub(super) fn before(&mut self, name: &'static str, bytes: u64, stream: &Stream) -> Result<bool, Error> {
        if self.on {
            let (start, end) = (new_event()?, new_event()?);
            start.record(stream).map_err(|error| driver_error("profile", error))?;
            self.launches.push(Timed { name, bytes, start, end });
        }
        Ok(self.on)
    }

    pub(super) fn after(&mut self, timing: bool, stream: &Stream) -> Result<(), Error> {
        match self.launches.last() {
            Some(launch) if timing => launch.end.record(stream).map_err(|error| driver_error("profile", error)),
            _ => Ok(()),
        }
    }

    /// Adds up the times of each kernel's launches. The stream must be idle.
    pub(super) fn finish(&mut self) -> Result<Vec<KernelTime>, Error> {
        self.on = false;
        let mut kernels: BTreeMap<&'static str, (Vec<f64>, u64)> = BTreeMap::new();
        for launch in self.launches.drain(..) {
            let milliseconds =
                launch.end.elapsed_time_f32(&launch.start).map_err(|error| driver_error("profile", error))?;
            let kernel = kernels.entry(launch.name).or_default();
            kernel.0.push(f64::from(milliseconds) / 1e3);
            kernel.1 += launch.bytes;
        }
        let times = kernels.into_iter().map(|(name, (mut seconds, bytes))| {
            seconds.sort_by(f64::total_cmp);
            KernelTime {
                name,
                launches: seconds.len(),
                seconds: seconds.iter().sum(),
                fastest: seconds[0],
                median: seconds[seconds.len() / 2],
                bytes,
            }
        });
        Ok(times.collect())
    }
}
