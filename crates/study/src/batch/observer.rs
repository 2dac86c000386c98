//! What a batch tells its caller while it runs.

use std::ops::ControlFlow;
use std::path::Path;

use antsreg_core::report::Report;
use antsreg_register::DeviceNote;
use crossbeam_channel::Receiver;

use crate::pair::Record;
use crate::{Error, RunWarning};

/// Receives what a batch tells while it runs. Several threads call its methods.
pub trait BatchObserver: Sync {
    /// A device is ready, or is not used.
    fn device(&self, note: &DeviceNote);
    /// A warning about a subject.
    fn warning(&self, subject: &str, warning: &RunWarning);
    /// The registration of `subjects` subjects begins; the others are done already.
    fn begins(&self, _subjects: usize) {}
    /// A subject is prepared: its shading is corrected and its brain extracted, if the options say so. The seconds are the
    /// time that this took. The registration of the subject begins.
    fn prepared(&self, _subject: &str, _seconds: f64) {}
    /// An iteration of a subject's registration. The returned value says whether the registration continues.
    fn iteration(&self, subject: &str, report: &Report) -> ControlFlow<()>;
    /// A subject is done. `ended`: the number of subjects that have ended so far, this one included, and of all subjects.
    fn done(&self, ended: [usize; 2], subject: &str, record: &Record);
    /// A subject failed. `ended` is as for [`done`](BatchObserver::done).
    fn failed(&self, ended: [usize; 2], subject: &str, error: &Error);
    /// A file about all subjects was written.
    fn wrote(&self, path: &Path);
    /// Whether the batch stops: subjects that have not begun then fail.
    fn stopped(&self) -> bool {
        false
    }
}

/// Passes everything on to the observer of a batch, each time after the notes about devices that have arrived.
pub(super) struct AfterNotes<'a> {
    pub observer: &'a dyn BatchObserver,
    pub notes: Receiver<DeviceNote>,
}

impl AfterNotes<'_> {
    /// The observer, after the notes about devices that have arrived so far.
    fn observer(&self) -> &dyn BatchObserver {
        self.notes.try_iter().for_each(|note| self.observer.device(&note));
        self.observer
    }
}

impl BatchObserver for AfterNotes<'_> {
    fn device(&self, note: &DeviceNote) {
        self.observer().device(note);
    }

    fn warning(&self, subject: &str, warning: &RunWarning) {
        self.observer().warning(subject, warning);
    }

    fn begins(&self, subjects: usize) {
        self.observer().begins(subjects);
    }

    fn prepared(&self, subject: &str, seconds: f64) {
        self.observer().prepared(subject, seconds);
    }

    fn iteration(&self, subject: &str, report: &Report) -> ControlFlow<()> {
        self.observer().iteration(subject, report)
    }

    fn done(&self, ended: [usize; 2], subject: &str, record: &Record) {
        self.observer().done(ended, subject, record);
    }

    fn failed(&self, ended: [usize; 2], subject: &str, error: &Error) {
        self.observer().failed(ended, subject, error);
    }

    fn wrote(&self, path: &Path) {
        self.observer().wrote(path);
    }

    fn stopped(&self) -> bool {
        self.observer.stopped()
    }
}
