//! Registrations of many files for Python: `batch` and `normalise`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use antsreg_cli::named::{self, NamedError};
use antsreg_core::report::Report;
use antsreg_register::DeviceNote;
use antsreg_study::batch::{BatchObserver, Outcome, Status};
use antsreg_study::pair::Record;
use antsreg_study::{Error, Invocation, RunWarning};
use crossbeam_channel::{RecvTimeoutError, bounded};
use pyo3::prelude::*;

use crate::error::{Class, Failure};
use crate::process;

/// Longest wait between two checks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(50);

/// Outcome of a subject: name, status (`done`, `skipped` or `failed`), the reason of a failure, and the record as JSON.
type Row = (String, &'static str, Option<String>, Option<String>);

/// Runs `batch` or `normalise` with options as words of the command line, and returns the outcome of every subject.
/// `callback` is called from several threads with a kind (`note`, `warning`, `done`, `failed`, `wrote`), the name of the
/// subject, a text, the number of subjects that have ended, and the number of all subjects.
#[pyfunction]
#[pyo3(signature = (verb, words, callback))]
pub fn run_study(py: Python, verb: &str, words: Vec<String>, callback: Py<PyAny>) -> Result<Vec<Row>, Failure> {
    let run = match verb {
        "batch" => named::batch,
        "normalise" => named::normalise,
        other => return Err(Failure::own(Class::Option, format!("unknown study {other}"))),
    };
    process::compute(py, || {
        let told = Told { callback, stop: AtomicBool::new(false), raised: Mutex::new(None) };
        let command_line: Vec<String> =
            ["antsreg-gpu", verb].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect();
        let (threads, began) = (rayon::current_num_threads(), Instant::now());
        let invocation = Invocation { threads, command_line: &command_line, began };
        let outcome = std::thread::scope(|scope| {
            let (ended, wait) = bounded(1);
            let (words, told, invocation) = (&words, &told, &invocation);
            let work = move || {
                let outcome = run(words, invocation, told);
                // The other thread may have ended its wait, because this thread is about to end.
                let _ = ended.send(());
                outcome
            };
            let work = std::thread::Builder::new().name(verb.into()).spawn_scoped(scope, work);
            let work = work.map_err(|error| Failure::own(Class::Device, format!("a thread: {error}")))?;
            // Python checks for Ctrl-C only on its main thread, which may be this one.
            while matches!(wait.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout)) {
                if let Err(raised) = Python::attach(|py| py.check_signals()) {
                    told.stop_at(raised);
                }
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(unnamed)
        });
        if let Some(raised) = told.raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(Failure::Python(raised));
        }
        rows(outcome?)
    })
}

fn rows(outcome: Outcome) -> Result<Vec<Row>, Failure> {
    let row = |row: antsreg_study::batch::Row| {
        let (status, reason) = match row.status {
            Status::Done => ("done", None),
            Status::Skipped => ("skipped", None),
            Status::Failed(reason) => ("failed", Some(reason)),
        };
        let record = row.record.map(|record| serde_json::to_string(&record)).transpose();
        let record = record.map_err(|error| Failure::own(Class::Input, error.to_string()))?;
        Ok((row.subject, status, reason, record))
    };
    outcome.rows.into_iter().map(row).collect()
}

/// The error of a call with named options.
pub fn unnamed(error: NamedError) -> Failure {
    match error {
        NamedError::Option(text) => Failure::own(Class::Option, as_arguments(&text)),
        NamedError::Study(error) => Failure::Study(error),
    }
}

/// Writes names of options (`--cc-radius`) as names of arguments (`cc_radius`).
fn as_arguments(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        shown.push_str(&rest[..at]);
        let name = &rest[at + 2..];
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
        shown.push_str(&name[..end].replace('-', "_"));
        rest = &name[end..];
    }
    shown + rest
}

/// Passes the progress of a study to a Python function.
struct Told {
    callback: Py<PyAny>,
    stop: AtomicBool,
    /// The Python exception that stopped the study.
    raised: Mutex<Option<PyErr>>,
}

impl Told {
    fn stop_at(&self, raised: PyErr) {
        self.stop.store(true, Ordering::Relaxed);
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
    }

    fn tell(&self, kind: &str, subject: &str, text: &str, [ended, count]: [usize; 2]) {
        let told = Python::attach(|py| self.callback.call1(py, (kind, subject, text, ended, count)).map(drop));
        if let Err(raised) = told {
            self.stop_at(raised);
        }
    }
}

impl BatchObserver for Told {
    fn device(&self, note: &DeviceNote) {
        self.tell("note", "", &note.to_string(), [0, 0]);
    }

    fn warning(&self, subject: &str, warning: &RunWarning) {
        self.tell("warning", subject, &warning.to_string(), [0, 0]);
    }

    fn iteration(&self, _: &str, _: &Report) -> ControlFlow<()> {
        match self.stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn done(&self, ended: [usize; 2], subject: &str, record: &Record) {
        self.tell("done", subject, &format!("{:.2} s", record.seconds.total), ended);
    }

    fn failed(&self, ended: [usize; 2], subject: &str, error: &Error) {
        self.tell("failed", subject, &error.to_string(), ended);
    }

    fn wrote(&self, path: &Path) {
        self.tell("wrote", "", &path.to_string_lossy(), [0, 0]);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
