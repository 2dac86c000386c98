//! Builds a template on one machine. Steps that an earlier run has done are not repeated.

use std::fs::File;
use std::time::Instant;

use antsreg_core::io::outputs;
use antsreg_pool::{BackgroundThreads, DeviceWorkers, WriteQueue};
use antsreg_register::Description;
use serde::Serialize;

use super::layout::Layout;
use super::pass::{FinishedPass, PassOutcome, PassSeconds, PreviousTemplate};
use super::progress::TemplateProgress;
use super::request::Request;
use super::session::Session;
use super::start::FirstTemplate;
use super::{finish, folder, manifest, pass, planning, registrations, start};
use crate::Error;

/// A template whose subjects have been read. Nothing has been written.
pub struct Prepared {
    session: Session,
    first: Option<FirstTemplate>,
}

/// A template ready to be built: its folder is locked and contains the plan.
pub struct Building {
    session: Session,
    first: Option<FirstTemplate>,
    _lock: File,
}

/// Data about one run, for the JSON file of its devices and times.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Number of threads that compute.
    pub threads: usize,
    /// The command line of the program, kept in the JSON file about this run.
    pub command_line: &'a [String],
    /// Seconds until the passes begin: reading subjects, opening a device, making the first template.
    pub ready_seconds: f64,
}

/// The JSON file about the last run: its devices and times.
#[derive(Debug, Serialize)]
struct Record<'a> {
    program: &'static str,
    version: &'static str,
    command_line: &'a [String],
    devices: Vec<Description>,
    threads: usize,
    seconds: Seconds,
}

/// Wall times of one run, seconds.
#[derive(Debug, Default, Serialize)]
struct Seconds {
    /// Time of reading subjects, opening a device and making the first template.
    ready: f64,
    /// Duration of each pass in this run, seconds.
    passes: Vec<PassSeconds>,
    /// Duration of the final step, until all files were written, seconds.
    finishing: f64,
    /// Duration of the whole run.
    total: f64,
}

impl Prepared {
    /// Reads all subjects, plans the template, extracts brains where the plan says so, and makes the first template.
    /// Writes nothing.
    ///
    /// # Errors
    /// Options or names out of range; a folder that cannot be used; too few subjects that can be read; too little
    /// memory for the template.
    pub fn new(request: &Request, progress: &mut dyn TemplateProgress) -> Result<Prepared, Error> {
        let (plan, images) = planning::plan(request)?;
        let session = Session::new(plan, &request.folder);
        let heads = session.keep(images);
        let first = start::make(&session, heads, progress)?;
        // Before anything is written, the options of the registrations are checked: they must fit the grid of this
        // template.
        registrations::options(&session, session.plan.last_pass)?;
        Ok(Prepared { session, first })
    }

    /// Free memory that a GPU needs for the registrations, bytes. With the device `auto`, GPUs with less free memory
    /// are left out.
    ///
    /// # Errors
    /// Options of the registrations that do not fit the template.
    pub fn device_bytes(&self) -> Result<u64, Error> {
        registrations::device_bytes(&self.session)
    }

    /// Creates and locks the folder of the template, and writes the plan. With `restart`, the folder may contain the
    /// template of other subjects or options; files that do not fit the plan are made again.
    ///
    /// # Errors
    /// A folder with another template, or in use by another process; files that cannot be written.
    pub fn settle(self, restart: bool) -> Result<Building, Error> {
        let Prepared { session, first } = self;
        let root = session.layout.root();
        outputs::make_folder(root)?;
        let lock = folder::lock(root)?;
        session.plan.settle(root, restart)?;
        folder::remove_unfinished(root);
        Ok(Building { session, first, _lock: lock })
    }
}

impl Building {
    /// Names of the subjects that are left out of the template, each with the reason.
    pub fn left_out(&self) -> Vec<String> {
        self.session.plan.left_out()
    }

    /// Number of all subjects, including subjects that are left out.
    pub fn subjects(&self) -> usize {
        self.session.plan.subjects.len()
    }

    /// Writes the first template, unless its files exist. All further steps can then be run one by one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_start(self) -> Result<(), Error> {
        self.first.map_or(Ok(()), |first| start::write(&self.session, &first)?().map(drop))
    }

    /// Runs the remaining steps of all passes, and the final step.
    ///
    /// # Errors
    /// A subject that cannot be registered (the other subjects of the pass are finished); a file that cannot be read
    /// or written; a device that fails.
    pub fn run(self, workers: DeviceWorkers, run: &Run, progress: &mut dyn TemplateProgress) -> Result<(), Error> {
        let Building { session, first, _lock } = self;
        build(&session, first, workers, run, progress)
    }
}

fn build(
    session: &Session,
    first: Option<FirstTemplate>,
    mut workers: DeviceWorkers,
    run: &Run,
    progress: &mut dyn TemplateProgress,
) -> Result<(), Error> {
    let began = Instant::now();
    let mut seconds = Seconds { ready: run.ready_seconds, ..Seconds::default() };
    let background = background(&workers, run.threads)?;
    let notes = workers.notes();
    // Each task writes several files in parallel, so fewer tasks than threads are started.
    let threads = run.threads.div_ceil(4);
    let devices = WriteQueue::with(threads, session.included.len(), background, |queue| {
        let first = first.map(|first| {
            let reference = first.reference.clone();
            queue.push(move || {
                let record = start::write(session, &first)?;
                Ok(move || record().map(drop))
            });
            reference
        });
        let mut last: Option<Box<FinishedPass>> = None;
        for number in session.plan.first_pass..=session.plan.last_pass {
            let before = match (&last, &first) {
                (Some(done), _) => PreviousTemplate::Done(done),
                (None, Some(reference)) => PreviousTemplate::First(reference),
                (None, None) => PreviousTemplate::Files,
            };
            notes.try_iter().for_each(|note| progress.device(&note));
            match pass::run(session, &mut workers, number, before, queue, progress)? {
                PassOutcome::NotNeeded => break,
                PassOutcome::DoneBefore => {}
                PassOutcome::Done(done) => {
                    seconds.passes.push(done.seconds);
                    last = Some(done);
                }
            }
        }
        notes.try_iter().for_each(|note| progress.device(&note));
        let devices = workers.devices();
        finish::run(session, workers, last.as_deref(), queue, progress)?;
        Ok(devices)
    })?;
    seconds.total = run.ready_seconds + began.elapsed().as_secs_f64();
    let passed: f64 = seconds.passes.iter().map(|pass| pass.registering + pass.updating).sum();
    seconds.finishing = seconds.total - seconds.ready - passed;
    let record = Record {
        program: "antsreg-gpu",
        version: env!("CARGO_PKG_VERSION"),
        command_line: run.command_line,
        devices,
        threads: run.threads,
        seconds,
    };
    manifest::write(&Layout::record(session.layout.root()), &record)
}

/// Creates the threads that write files. If the subjects are registered on GPUs, these are separate threads: on shared
/// threads, short tasks of a GPU worker would wait for long tasks of writing.
///
/// # Errors
/// Threads that cannot be started.
pub fn background(workers: &DeviceWorkers, threads: usize) -> Result<BackgroundThreads, Error> {
    match workers.are_gpus() {
        true => Ok(BackgroundThreads::new(threads)?),
        false => Ok(BackgroundThreads::shared()),
    }
}
