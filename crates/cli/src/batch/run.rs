//! Runs `batch`: everything is checked first, then all subjects are registered, then it is shown how it went.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use antsreg_console::{CliError, Console, advice, command_line::command_line};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::report::Report;
use antsreg_pool::{DeviceNote, DeviceWorkers, Devices, StageThreads};
use antsreg_register::{DeviceChoice, Grids, Options, Recipe};
use antsreg_study::batch::{self, Batch, BatchProgress, Job, Row, Status};
use antsreg_study::pair::{FixedInputs, Names, Parameters, Record};
use antsreg_study::{Error as StudyError, subjects};
use crossbeam_channel::Receiver;

use super::args::{Args, Study};
use super::show;
use crate::device_notes;

/// Runs `batch`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let study = args.study()?;
    let devices = devices(args, &study, console);
    let opening = antsreg_pool::open(&devices, args.workers)?;
    let fixed = FixedInputs::read(&study.shared)?;
    let recipe = Recipe { start: fixed.start, ..study.recipe.clone() };
    let options = recipe.options(fixed.side.grid().shape)?;
    // Finds what no subject could change: levels that do not fit the image, for instance.
    options.check()?;
    options.check_levels(fixed.side.grid())?;
    let mut workers = DeviceWorkers::new::<CliError>(opening, || Ok(needed_bytes(&study, &fixed, &options)))?;
    let threads = StageThreads::for_workers(workers.workers());
    let mut rows: Vec<Row> = study.jobs.iter().map(|job| row(args, &study, job, &fixed, &options)).collect();
    if args.dry_run {
        let workers = workers.all()?;
        device_notes::show(&workers.notes(), console);
        let plan = show::Plan { study: &study, fixed: &fixed, options: &options, devices: &workers.devices() };
        return antsreg_console::output::print(&show::plan(&plan, threads, &rows));
    }
    outputs::make_folder(&args.output)?;
    let jobs = study.jobs.iter().cloned().enumerate();
    let jobs: Vec<(usize, Job)> = jobs.filter(|(place, _)| rows[*place].status != Status::Skipped).collect();
    check_outputs(args, &study, &jobs, &rows)?;
    let (began, count) = (Instant::now(), jobs.len());
    let command_line = command_line();
    let of = Batch { fixed: &fixed, options: &options, threads: console.threads, command_line: &command_line };
    let progress =
        Lines { notes: workers.notes(), count, iterations: console.wants_iterations(), console: Mutex::new(console) };
    let busy = batch::run(&of, jobs, &mut workers, threads, &progress, &mut rows)?;
    let wall = began.elapsed().as_secs_f64();
    let mut outputs = Outputs::new();
    outputs.write::<CliError>(&args.summary(), |path| Ok(batch::write_summary(path, &rows)?))?;
    if let Some(page) = args.page() {
        let html = batch::page(&args.output, &study.shared.fixed, &args.summary(), &command_line, &rows)?;
        outputs.write::<CliError>(&page, |path| Ok(outputs::write_file(path, html.as_bytes())?))?;
    }
    for path in outputs.commit()? {
        progress.console().note(format_args!("wrote {}", path.display()));
    }
    end(args, &rows, wall, busy)
}

/// The devices: the CPU for `auto` where no GPU has the window of the correlation.
fn devices(args: &Args, study: &Study, console: &mut Console) -> Devices {
    let auto = args.registration.device == Devices::default();
    match study.recipe.too_wide_for_gpu(study.masked).filter(|_| auto) {
        Some(reason) => {
            console.note(format_args!("device: cpu, because {reason}"));
            Devices::One(DeviceChoice::Cpu)
        }
        None => args.registration.device.clone(),
    }
}

/// The row of a job before it is done: skipped if it need not be done again.
fn row(args: &Args, study: &Study, job: &Job, fixed: &FixedInputs, options: &Options) -> Row {
    let names = Names::new(&job.files, study.recipe.model.is_deformable());
    let parameters = Parameters::of(&job.files, fixed, options);
    let record = args.resume.then(|| batch::finished(&job.files, &names, fixed, &parameters)).flatten();
    let status = if record.is_some() { Status::Skipped } else { Status::Failed("not begun".into()) };
    Row { subject: job.name.clone(), status, record, names }
}

/// Memory that a GPU must have for the largest subject, bytes.
fn needed_bytes(study: &Study, fixed: &FixedInputs, options: &Options) -> u64 {
    let images: Vec<&PathBuf> = study.jobs.iter().map(|job| &job.files.moving).collect();
    let moving = subjects::largest_grid(&images);
    let fixed_grid = fixed.side.grid();
    let moving = moving.as_ref().unwrap_or(fixed_grid);
    let channels = fixed.side.channel_grids();
    let grids = Grids {
        images: [fixed_grid, moving],
        channels: [channels.clone(), vec![moving; channels.len()]],
        masked: [fixed.side.mask.is_some(), study.masked],
    };
    options.device_bytes(&grids) + options.prepared_device_bytes(&grids)
}

/// Refuses a folder that takes no files, and outputs that are inputs of any subject: of those that are done already, too.
fn check_outputs(args: &Args, study: &Study, jobs: &[(usize, Job)], rows: &[Row]) -> Result<(), CliError> {
    let (summary, page) = (args.summary(), args.page());
    let own = study.jobs.iter().flat_map(|job| job.files.inputs());
    let shared = study.shared.fixed_inputs();
    let inputs = own.chain(shared).chain(args.subjects.iter().map(PathBuf::as_path));
    let written = jobs.iter().flat_map(|(place, _)| rows[*place].names.all());
    Ok(outputs::check(std::iter::once(summary.as_path()).chain(page.as_deref()).chain(written), inputs)?)
}

/// Shows how it went, and fails where a subject has.
fn end(args: &Args, rows: &[Row], wall: f64, busy: f64) -> Result<(), CliError> {
    let failed: Vec<String> =
        rows.iter().filter(|row| matches!(row.status, Status::Failed(_))).map(|row| row.subject.clone()).collect();
    antsreg_console::output::print(&show::outcome(rows, wall, busy))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(CliError::SomeFailed { failed, of: rows.len(), summary: args.summary() })
}

/// Shows the progress of a batch as lines.
struct Lines<'a> {
    console: Mutex<&'a mut Console>,
    notes: Receiver<DeviceNote>,
    count: usize,
    iterations: bool,
}

impl<'a> Lines<'a> {
    /// The console. Notes about devices that have arrived since the last call are printed first.
    fn console(&self) -> MutexGuard<'_, &'a mut Console> {
        let mut console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        device_notes::show(&self.notes, &mut console);
        console
    }
}

impl BatchProgress for Lines<'_> {
    fn warning(&self, subject: &str, text: &str) {
        self.console().warn(format_args!("{subject}: {text}"));
    }

    fn iteration(&self, subject: &str, report: &Report) {
        if self.iterations {
            self.console().iteration(Some(subject), report);
        }
    }

    fn done(&self, ended: usize, subject: &str, record: &Record) {
        let mut console = self.console();
        console.note(format_args!("[{ended}/{}] {subject}: {}", self.count, show::done(record)));
        for warning in &record.doubts {
            console.warn(format_args!("{subject}: {warning}{}", advice::of_warning(warning)));
        }
    }

    fn failed(&self, ended: usize, subject: &str, error: &StudyError) {
        let advice = advice::of_study(error);
        self.console().warn(format_args!("[{ended}/{}] {subject} failed: {error}{advice}", self.count));
    }
}
