//! Registers the subjects of a batch. While a subject is registered, other subjects are read or written.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use antsreg_core::report::{Observer, Report};
use antsreg_pool::{BackgroundThreads, DeviceWorkers, StageThreads, Worker};
use antsreg_register::{self as register, Computed, Description, Options, Progress};

use super::fixed::FixedSide;
use super::observer::BatchObserver;
use super::rows::{Job, Row, Status};
use super::steps::Steps;
use crate::pair::{Ahead, Context, FixedInputs, Inputs, Record, Seconds, fetch, write_with};
use crate::{Error, Invocation, RunWarning};

/// The inputs and settings that all subjects of a batch of registrations share.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    /// The fixed side (an image for each channel, and a mask) of all registrations.
    pub fixed: &'a FixedInputs,
    /// The options of all registrations.
    pub options: &'a Options,
    /// How the program was started, for the JSON record of each registration.
    pub invocation: &'a Invocation<'a>,
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
    /// Time of the steps before the registration, s.
    preparing: f64,
}

/// Registers subjects and fills in their rows of the summary table. `jobs` holds each subject with the index of its row
/// in `rows`. Returns the share of the workers' time in which they computed.
///
/// # Errors
/// A thread that cannot be started; a device that cannot be used. The failure of a subject is reported to `progress`
/// and in the row of the subject.
pub(super) fn register_all<S: Steps>(
    batch: &Batch,
    steps: &S,
    jobs: Vec<(usize, Job)>,
    workers: &mut DeviceWorkers,
    threads: StageThreads,
    progress: &dyn BatchObserver,
    rows: &mut [Row],
) -> Result<f64, Error> {
    let began = Instant::now();
    // With GPUs, bias correction and writing run on separate threads. On the shared thread pool, the worker of a GPU
    // could have to wait for these long tasks.
    let background = if workers.are_gpus() {
        BackgroundThreads::new(batch.invocation.threads)?
    } else {
        BackgroundThreads::shared()
    };
    let fixed = FixedSide::new(batch.fixed, batch.options);
    let computing = Mutex::new(0.0);
    let read = |(place, job): (usize, Job)| {
        let began = Instant::now();
        let what = match progress.stopped() {
            true => Err(register::Error::Stopped.into()),
            false => steps.read(batch.fixed.clone(), &job),
        };
        let seconds = Seconds { read: began.elapsed().as_secs_f64(), ..Seconds::default() };
        if let Ok((inputs, _)) = &what {
            for warning in &inputs.warnings {
                progress.warning(&job.name, &RunWarning::Text(warning.clone()));
            }
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
    let (mut ended, count) = (0, jobs.len());
    workers.last().run(jobs, threads, read, compute, write, |(place, job, what)| {
        ended += 1;
        let row = &mut rows[place];
        match what {
            Ok(record) => {
                progress.done([ended, count], &job.name, &record);
                warnings_of(&record).for_each(|warning| progress.warning(&job.name, &warning));
                (row.status, row.record) = (Status::Done, Some(record));
            }
            Err(error) => {
                progress.failed([ended, count], &job.name, &error);
                row.status = Status::Failed(error.to_string());
            }
        }
    })?;
    let computed = *computing.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(computed / (began.elapsed().as_secs_f64() * workers.workers() as f64).max(f64::MIN_POSITIVE))
}

/// The warnings in the record of a subject: about its brain, then about the result of its registration.
fn warnings_of(record: &Record) -> impl Iterator<Item = RunWarning> + '_ {
    let of_result = record.warning_values.iter().cloned().map(RunWarning::Result);
    record.warnings_of_heads().iter().cloned().map(RunWarning::Text).chain(of_result)
}

/// Runs the part of a subject's registration that needs the device of a worker.
fn register<S: Steps>(
    worker: &mut Worker,
    batch: &Batch,
    steps: &S,
    fixed: &FixedSide,
    job: &Job,
    (mut inputs, read): (Inputs, S::Read),
    progress: &dyn BatchObserver,
) -> Result<Registered<S::Prepared>, Error> {
    let mut observer = Subject { progress, name: &job.name };
    let began = Instant::now();
    inputs.remove_shading_on(&job.files, worker)?;
    let prepared = steps.prepare(worker, batch.options, fixed, job, &mut inputs, read)?;
    let preparing = began.elapsed().as_secs_f64();
    progress.prepared(&job.name, preparing);
    let (target, failed) = (fixed.target(&inputs), |error| inputs.blame(&job.files, error));
    let (computed, ahead) = if worker.is_gpu() {
        let fetch = |found: register::Registered| {
            Ok(fetch(&found.keep()?, &job.files, &job.names, &inputs, Ahead::default()))
        };
        worker.register(&target, &inputs.moving, &mut observer, fetch).map_err(failed)??
    } else {
        let download = |found: register::Registered| found.download();
        (worker.register(&target, &inputs.moving, &mut observer, download).map_err(failed)?, Ahead::default())
    };
    Ok(Registered { inputs, prepared, computed, ahead, device: worker.description().clone(), preparing })
}

/// Finishes the registration of a subject on the CPU and writes its files.
fn finish<S: Steps>(
    batch: &Batch,
    steps: &S,
    job: &Job,
    registered: Registered<S::Prepared>,
    seconds: Seconds,
) -> Result<Record, Error> {
    let Registered { mut inputs, prepared, computed, ahead, device, preparing } = registered;
    let seconds = Seconds { preparing: Some(preparing), ..seconds };
    let mut found = computed.finish(inputs.sides(), batch.options)?;
    let further = steps.finish(job, &mut inputs, &mut found, prepared)?;
    let of = Context {
        files: &job.files,
        names: &job.names,
        inputs: &inputs,
        options: batch.options,
        device: &device,
        threads: batch.invocation.threads,
        command_line: batch.invocation.command_line,
        device_memory: None,
        profile: None,
    };
    Ok(write_with(&of, &found, ahead, seconds, Seconds::sum, further)?.record)
}

/// Observer of one subject's registration: reports each iteration with the name of the subject.
struct Subject<'a> {
    progress: &'a dyn BatchObserver,
    name: &'a str,
}

impl Observer for Subject<'_> {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        self.progress.iteration(self.name, report)
    }
}

impl Progress for Subject<'_> {}
