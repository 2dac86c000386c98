//! Runs a batch. While a subject is registered, other subjects are read or written.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use antsreg_core::report::{Observer, Report};
use antsreg_pool::{BackgroundThreads, DeviceWorkers, StageThreads, Worker};
use antsreg_register::{self as register, Computed, Description, Options, Progress};

use super::{FixedSide, Steps};
use crate::Error;
use crate::pair::{Ahead, Context, FixedInputs, Inputs, Names, PairFiles, Record, Seconds, fetch, write_with};

/// A subject of a batch with its files.
#[derive(Debug, Clone)]
pub struct Job {
    /// The subject's name.
    pub name: String,
    /// The input files of the subject's registration.
    pub files: PairFiles,
    /// The names of the subject's output files.
    pub names: Names,
}

/// Outcome of a subject's registration in a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// The subject was registered, and its files were written.
    Done,
    /// The subject's files existed already, complete and up to date.
    Skipped,
    /// The subject failed; the text is the reason.
    Failed(String),
}

/// Row of a subject in the summary table of a batch.
#[derive(Debug)]
pub struct Row {
    /// The subject's name.
    pub subject: String,
    /// Outcome of the subject's registration.
    pub status: Status,
    /// The record (inputs, options, results) of the registration; `None` if the registration failed.
    pub record: Option<Record>,
    /// The names of the subject's output files.
    pub names: Names,
}

/// The inputs and settings that all subjects of a batch of registrations share.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The fixed side (an image for each channel, and a mask) of all registrations.
    pub fixed: &'a FixedInputs,
    /// The options of all registrations.
    pub options: &'a Options,
    /// Number of threads that compute.
    pub threads: usize,
    /// The command line of the program, kept in the JSON record of each registration.
    pub command_line: &'a [String],
}

/// Receives the progress of a batch. Several threads call its methods.
pub trait BatchProgress: Sync {
    /// Reports a warning about a subject's files, before the subject is registered.
    fn warning(&self, subject: &str, text: &str);
    /// Reports an iteration of a subject's registration.
    fn iteration(&self, subject: &str, report: &Report);
    /// Reports that a subject is done. `ended` is the number of subjects that have ended so far, this one included.
    fn done(&self, ended: usize, subject: &str, record: &Record);
    /// Reports that a subject failed. `ended` is the number of subjects that have ended so far, this one included.
    fn failed(&self, ended: usize, subject: &str, error: &Error);
}

/// The registration of a subject between two stages of a batch (reading, computing, writing), with its data or the
/// error that ended it.
struct Passing<T> {
    place: usize,
    job: Job,
    seconds: Seconds,
    what: Result<T, Error>,
}

/// A registered subject: its inputs, the data prepared for it, the result, the files that are being written already,
/// and the device that computed the result.
struct Registered<T> {
    inputs: Inputs,
    prepared: T,
    computed: Computed,
    ahead: Ahead,
    device: Description,
}

/// Registers subjects and fills in their rows of the summary table. `jobs` holds each subject with the index of its row
/// in `rows`. Returns the share of the workers' time in which they computed.
///
/// # Errors
/// A thread that cannot be started; a device that cannot be used. The failure of a subject is reported to `progress`
/// and in the row of the subject.
pub fn run<S: Steps>(
    batch: &Batch,
    steps: &S,
    jobs: Vec<(usize, Job)>,
    workers: &mut DeviceWorkers,
    threads: StageThreads,
    progress: &dyn BatchProgress,
    rows: &mut [Row],
) -> Result<f64, Error> {
    let began = Instant::now();
    // With GPUs, bias correction and writing run on separate threads. On the shared thread pool, the worker of a GPU
    // could have to wait for these long tasks.
    let background =
        if workers.are_gpus() { BackgroundThreads::new(batch.threads)? } else { BackgroundThreads::shared() };
    let fixed = FixedSide::new(batch.fixed, batch.options);
    let computing = Mutex::new(0.0);
    let read = |(place, job): (usize, Job)| {
        let began = Instant::now();
        let what = steps.read(batch.fixed.clone(), &job);
        let seconds = Seconds { read: began.elapsed().as_secs_f64(), ..Seconds::default() };
        if let Ok((inputs, _)) = &what {
            inputs.warnings.iter().for_each(|warning| progress.warning(&job.name, warning));
        }
        Passing { place, job, seconds, what }
    };
    let compute = |worker: &mut Worker, Passing { place, job, seconds, what }: Passing<(Inputs, S::Read)>| {
        let began = Instant::now();
        let what = what.and_then(|read| register(worker, batch, steps, &fixed, &job, read, progress));
        *computing.lock().unwrap_or_else(PoisonError::into_inner) += began.elapsed().as_secs_f64();
        Passing { place, job, seconds, what }
    };
    let write = |Passing { place, job, seconds, what }: Passing<Registered<S::Prepared>>| {
        let what = what.and_then(|registered| background.run(|| finish(batch, steps, &job, registered, seconds)));
        (place, job, what)
    };
    let mut ended = 0;
    workers.last().run(jobs, threads, read, compute, write, |(place, job, what)| {
        ended += 1;
        let row = &mut rows[place];
        match what {
            Ok(record) => {
                progress.done(ended, &job.name, &record);
                (row.status, row.record) = (Status::Done, Some(record));
            }
            Err(error) => {
                progress.failed(ended, &job.name, &error);
                row.status = Status::Failed(error.to_string());
            }
        }
    })?;
    let computed = *computing.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(computed / (began.elapsed().as_secs_f64() * workers.workers() as f64).max(f64::MIN_POSITIVE))
}

/// Runs the part of a subject's registration that needs the device of a worker.
fn register<S: Steps>(
    worker: &mut Worker,
    batch: &Batch,
    steps: &S,
    fixed: &FixedSide,
    job: &Job,
    (mut inputs, read): (Inputs, S::Read),
    progress: &dyn BatchProgress,
) -> Result<Registered<S::Prepared>, Error> {
    let mut observer = Subject { progress, name: &job.name };
    inputs.remove_shading_on(&job.files, worker)?;
    let prepared = steps.prepare(worker, batch.options, fixed, job, &mut inputs, read)?;
    let (target, failed) = (fixed.target(&inputs), |error| inputs.blame(&job.files, error));
    let (computed, ahead) = if worker.is_gpu() {
        let fetch = |found: register::Registered| {
            Ok(fetch(&found.keep()?, &job.files, &job.names, &inputs, Ahead::default()))
        };
        worker.register(target, &inputs.moving, &mut observer, fetch).map_err(failed)??
    } else {
        let download = |found: register::Registered| found.download();
        (worker.register(target, &inputs.moving, &mut observer, download).map_err(failed)?, Ahead::default())
    };
    Ok(Registered { inputs, prepared, computed, ahead, device: worker.description().clone() })
}

/// Finishes the registration of a subject on the CPU and writes its files.
fn finish<S: Steps>(
    batch: &Batch,
    steps: &S,
    job: &Job,
    registered: Registered<S::Prepared>,
    seconds: Seconds,
) -> Result<Record, Error> {
    let Registered { mut inputs, prepared, computed, ahead, device } = registered;
    let mut found = computed.finish(inputs.sides(), batch.options)?;
    let further = steps.finish(job, &mut inputs, &mut found, prepared)?;
    let of = Context {
        files: &job.files,
        names: &job.names,
        inputs: &inputs,
        options: batch.options,
        device: &device,
        threads: batch.threads,
        command_line: batch.command_line,
        device_memory: None,
        profile: None,
    };
    Ok(write_with(&of, &found, ahead, seconds, Seconds::sum, further)?.record)
}

/// Observer of one subject's registration: reports each iteration with the name of the subject.
struct Subject<'a> {
    progress: &'a dyn BatchProgress,
    name: &'a str,
}

impl Observer for Subject<'_> {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        self.progress.iteration(self.name, report);
        ControlFlow::Continue(())
    }
}

impl Progress for Subject<'_> {}
