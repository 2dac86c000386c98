//! Passes the progress of a registration to a Python callback, and stops the registration at Ctrl-C or at the request
//! of another thread.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use antsreg_core::report::{Observer, Report, Stage};
use antsreg_register::{self as register, Progress};
use pyo3::prelude::*;

use crate::error::Failure;

/// Shortest time between two checks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(50);

/// Receives the progress of one registration or motion correction.
pub struct Watcher {
    /// Python function that is called with every report of progress.
    callback: Option<Py<PyAny>>,
    /// Stop flag of the registration: another thread sets it to true in order to stop the registration.
    stop: Arc<AtomicBool>,
    looked: Instant,
    /// The Python exception that stopped the registration.
    raised: Option<PyErr>,
}

impl Watcher {
    /// Makes an observer of the progress of one registration or motion correction. `callback` is the user's progress
    /// function, if there is one.
    pub fn new(callback: Option<Py<PyAny>>, stop: Arc<AtomicBool>) -> Watcher {
        Watcher { callback, stop, looked: Instant::now(), raised: None }
    }

    /// The reason why a registration failed: the Python exception that stopped it, or its own error.
    pub fn failure(&mut self, error: register::Error) -> Failure {
        match (error, self.raised.take()) {
            (register::Error::Stopped, Some(raised)) => Failure::Python(raised),
            (error, _) => error.into(),
        }
    }

    /// Calls the callback with two numbers: `aligned`, the volumes of a series that are aligned, and `of`, all volumes
    /// of the series.
    pub fn aligned(&mut self, aligned: usize, of: usize) -> ControlFlow<()> {
        self.poll()?;
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let called = Python::attach(|py| callback.call1(py, (aligned, of)).map(drop));
        self.end_at(called)
    }

    /// The reason why a motion correction failed: the Python exception that stopped it, or its own error.
    pub fn stopped(&mut self, error: antsreg_study::Error) -> Failure {
        match error {
            antsreg_study::Error::Register(error) => self.failure(error),
            error => error.into(),
        }
    }

    fn end_at(&mut self, result: PyResult<()>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

impl Observer for Watcher {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        self.poll()?;
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let stage = match report.step.stage() {
            Stage::Linear => "affine",
            Stage::Deformable => "syn",
        };
        let Report { step, level, levels, iteration, iterations, energy } = report;
        let told = (stage, step.to_string(), level + 1, *levels, *iteration, *iterations, *energy);
        let called = Python::attach(|py| callback.call1(py, told).map(drop));
        self.end_at(called)
    }

    fn poll(&mut self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if self.looked.elapsed() < PAUSE {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        // Python checks for Ctrl-C only on its main thread; on another thread this call does nothing.
        let checked = Python::attach(|py| py.check_signals());
        self.end_at(checked)
    }
}

impl Progress for Watcher {}
