//! Runs `batch`: checks everything first, then reads, registers and writes at the same time.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use antsreg_core::report::{Observer, Report};
use serde_json::Value;

use super::args::Args;
use super::summary::{self, Row, Status};
use super::{resume, show};
use crate::cohort::{Aside, Crew, Engine, Engines, Largest, largest_grid};
use crate::device::Description;
use crate::devices;
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::register::compute::Listener;
use crate::register::{
    self, Files, FixedInputs, Found, Inputs, Measured, Plan, Registration, Seconds, Wanted, WantedImages,
};
use crate::staging::{self, Outputs};

/// A subject that is to be registered.
struct Job {
    /// Its place in the summary.
    place: usize,
    name: String,
    args: register::Args,
}

/// What a job has become on its way, or why it got no further.
struct Passing<T> {
    job: Job,
    seconds: Seconds,
    what: Result<T, CliError>,
}

/// What is computed, and where.
struct Computed {
    inputs: Inputs,
    plan: Plan,
    found: Found,
}

/// Runs `batch`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let subjects = args.jobs()?;
    let shared = args.shared();
    register::check(&args.settings, &shared.channels)?;
    let opening = devices::open(&args.settings.device, args.workers);
    let fixed = FixedInputs::read(&shared)?;
    // Finds what no subject could change: levels that do not fit the image, for instance.
    let plan = Plan::new(&args.settings, fixed.image.grid.shape, fixed.linear_start(), Description::Cpu)?
        .with_channels(&args.settings, &shared.channels);
    let needed_bytes = || {
        let images: Vec<&PathBuf> = subjects.iter().flat_map(|(subject, _)| &subject.images).collect();
        let largest = Largest {
            fixed: std::iter::once(&fixed.image).chain(&fixed.channels).map(|image| &image.grid).collect(),
            moving: largest_grid(&images),
            masked: [fixed.mask.is_some(), subjects.iter().any(|(subject, _)| subject.mask.is_some())],
            plan: &plan,
            images: Some(WantedImages::new(&args.writing)),
        };
        Ok(largest.bytes_on_device())
    };
    let mut engines = Engines::of(opening, needed_bytes)?;
    let crew = Crew::for_workers(engines.workers());
    let jobs = subjects.into_iter().enumerate();
    let jobs: Vec<Job> = jobs.map(|(place, (subject, args))| Job { place, name: subject.name, args }).collect();
    let mut rows: Vec<Row> = jobs
        .iter()
        .map(|job| {
            let files = Files::new(&job.args);
            let parameters = register::Parameters::new(&job.args, &fixed.start, &plan);
            let record = args.resume.then(|| resume::finished(&job.args, &files, &parameters)).flatten();
            let status = if record.is_some() { Status::Skipped } else { Status::Failed("not begun".into()) };
            Row { subject: job.name.clone(), status, record: record.unwrap_or(Value::Null), files }
        })
        .collect();
    if args.dry_run {
        let engines = engines.all()?;
        engines.notes().tell(console);
        return crate::output::print(&show::plan(args, &fixed, &plan, &engines.devices(), crew, &rows));
    }
    std::fs::create_dir_all(&args.output)
        .map_err(|source| CliError::OutputFolder { folder: args.output.clone(), source })?;
    let jobs: Vec<Job> = jobs.into_iter().filter(|job| rows[job.place].status != Status::Skipped).collect();
    check_outputs(args, &jobs, &rows)?;
    let began = Instant::now();
    let busy = register_all(jobs, &fixed, &mut engines, crew, console, &mut rows)?;
    let wall = began.elapsed().as_secs_f64();
    let mut outputs = Outputs::new();
    outputs.write(&args.summary(), |path| summary::write(path, &rows))?;
    outputs.commit()?;
    console.note(format_args!("wrote {}", args.summary().display()));
    end(args, &rows, wall, busy)
}

/// Whether the folder takes files, and none of them is an input of any subject.
fn check_outputs(args: &Args, jobs: &[Job], rows: &[Row]) -> Result<(), CliError> {
    staging::check_writable(&args.summary())?;
    let shared = [args.fixed_mask.as_ref(), args.fixed_labels.as_ref()];
    let own = jobs.iter().flat_map(|job| {
        let register::Args { fixed, moving, moving_mask, moving_labels, .. } = &job.args;
        [Some(fixed), Some(moving), moving_mask.as_ref(), moving_labels.as_ref()]
    });
    let further =
        jobs.iter().flat_map(|job| job.args.channels.iter().flat_map(|files| [&files.fixed, &files.moving]));
    let inputs = shared.into_iter().chain(own).flatten().chain(further).chain(&args.subjects);
    let inputs: BTreeSet<PathBuf> = inputs.filter_map(|input| input.canonicalize().ok()).collect();
    let summary = args.summary();
    let outputs = jobs.iter().flat_map(|job| rows[job.place].files.all()).chain([summary.as_path()]);
    for output in outputs {
        if output.canonicalize().is_ok_and(|existing| inputs.contains(&existing)) {
            return Err(UsageError::OverInput(output.display().to_string()).into());
        }
    }
    Ok(())
}

/// Takes all jobs through the stages. Returns the share of the workers' time in which they computed.
fn register_all(
    jobs: Vec<Job>,
    fixed: &FixedInputs,
    engines: &mut Engines,
    crew: Crew,
    console: &mut Console,
    rows: &mut [Row],
) -> Result<f64, CliError> {
    let (began, count) = (Instant::now(), jobs.len());
    let (threads, iterations) = (console.threads, console.wants_iterations());
    let (aside, notes) = (Aside::of(engines, threads)?, engines.notes());
    notes.tell(console);
    let console = Mutex::new(console);
    let computing = Mutex::new(0.0);
    let read = |job: Job| {
        let began = Instant::now();
        let read = Inputs::beside(fixed, &job.args);
        let seconds = Seconds { read: began.elapsed().as_secs_f64(), ..Seconds::default() };
        let what = read.map(|(inputs, warnings)| {
            warnings.iter().for_each(|warning| lock(&console).warn(format_args!("{}: {warning}", job.name)));
            inputs
        });
        Passing { job, seconds, what }
    };
    let compute = |engine: &mut Engine, Passing { job, mut seconds, what }: Passing<Inputs>| {
        let began = Instant::now();
        let mut lines = Lines { console: iterations.then_some(&console), name: &job.name };
        let what = what.and_then(|inputs| compute(engine, &job, inputs, &mut seconds, &mut lines));
        *lock(&computing) += began.elapsed().as_secs_f64();
        Passing { job, seconds, what }
    };
    let write = |Passing { job, seconds, what }: Passing<Computed>| {
        let what = what.and_then(|Computed { inputs, plan, found }| {
            let (files, total) = (Files::new(&job.args), Seconds::sum);
            let of = Registration { args: &job.args, inputs: &inputs, plan: &plan, files: &files, threads };
            let measured = Measured { seconds, ..Measured::default() };
            let write = || register::write(of, found, measured, total);
            let written = aside.run(write)?;
            // The figures of the summary are read off the record's text, as they are of subjects that were done before.
            let text = serde_json::to_vec(&written.record);
            text.and_then(|text| serde_json::from_slice(&text))
                .map_err(|source| CliError::Json { path: files.record, source })
        });
        (job, what)
    };
    let mut ended = 0;
    engines.last().run(jobs, crew, read, compute, write, |(job, what)| {
        ended += 1;
        let (row, mut console) = (&mut rows[job.place], lock(&console));
        notes.tell(&mut console);
        match what {
            Ok(record) => {
                console.note(format_args!("[{ended}/{count}] {}: {}", job.name, show::done(&record)));
                (row.status, row.record) = (Status::Done, record);
            }
            Err(error) => {
                console.warn(format_args!("[{ended}/{count}] {} failed: {error}", job.name));
                row.status = Status::Failed(error.to_string());
            }
        }
    })?;
    let (computed, workers) = (*lock(&computing), engines.workers());
    Ok(computed / (began.elapsed().as_secs_f64() * workers as f64).max(f64::MIN_POSITIVE))
}

/// Both stages of one subject.
fn compute(
    engine: &mut Engine,
    job: &Job,
    inputs: Inputs,
    seconds: &mut Seconds,
    listener: &mut dyn Listener,
) -> Result<Computed, CliError> {
    let plan = Plan::resolve(&job.args, &inputs, engine.description.clone())?;
    let request = inputs.request(&plan, Wanted::new(&job.args, &plan.device));
    let found = engine.register(&request, seconds, listener)?;
    Ok(Computed { inputs, plan, found })
}

/// Says how it went, and fails where a subject has.
fn end(args: &Args, rows: &[Row], wall: f64, busy: f64) -> Result<(), CliError> {
    let failed: Vec<String> =
        rows.iter().filter(|row| matches!(row.status, Status::Failed(_))).map(|row| row.subject.clone()).collect();
    crate::output::print(&show::outcome(rows, wall, busy))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(CliError::SomeFailed { failed, of: rows.len(), summary: args.summary() })
}

/// Reports iterations under the subject's name, where they are wanted.
struct Lines<'a, 'b> {
    console: Option<&'a Mutex<&'b mut Console>>,
    name: &'a str,
}

impl Observer for Lines<'_, '_> {
    fn report(&mut self, report: &Report) {
        if let Some(console) = self.console {
            lock(console).iteration(Some(self.name), report);
        }
    }
}

/// Its stages are told of when its files are written.
impl Listener for Lines<'_, '_> {}

/// The lock, also after a panic in another thread: nothing is left half done under it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
