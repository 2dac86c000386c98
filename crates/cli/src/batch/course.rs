//! All subjects through reading, registering and writing, at the same time.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use antsreg_core::report::{Observer, Report};
use antsreg_syn as syn;

use super::show;
use super::summary::{self, Row, Status};
use crate::cohort::{Aside, Crew, Engine, Engines};
use crate::error::CliError;
use crate::progress::Console;
use crate::register::compute::Listener;
use crate::register::{self, Files, FixedInputs, Found, Inputs, Measured, Plan, Registration, Seconds, Wanted};

/// A subject that is to be registered.
pub struct Job {
    /// Its place in the summary.
    pub place: usize,
    /// What it is called.
    pub name: String,
    /// What `register` would be told.
    pub args: register::Args,
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

/// Takes all jobs through, and fills in their rows. Returns the share of the workers' time in which they computed.
pub fn run(
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
        let mut lines = Lines { console: &console, iterations, name: &job.name };
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
                summary::warnings(&record).for_each(|text| console.warn(format_args!("{}: {text}", job.name)));
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

/// Tells under the subject's name what was undone of it, and of iterations where they are wanted.
struct Lines<'a, 'b> {
    console: &'a Mutex<&'b mut Console>,
    iterations: bool,
    name: &'a str,
}

impl Observer for Lines<'_, '_> {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        if self.iterations {
            lock(self.console).iteration(Some(self.name), report);
        }
        ControlFlow::Continue(())
    }
}

/// How long its stages took is told when its files are written.
impl Listener for Lines<'_, '_> {
    fn warps_found(&mut self, course: &syn::Course, _: f64) {
        let mut console = lock(self.console);
        register::undone(course).for_each(|line| console.note(format_args!("{}: {line}", self.name)));
    }
}

/// The lock, also after a panic in another thread: nothing is left half done under it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
