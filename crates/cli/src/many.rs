//! Runs many registrations to one fixed image: checks everything, registers all subjects, and shows the outcome.
//! `batch` and `normalise` are its front ends.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use antsreg_console::{CliError, Console, advice, command_line::command_line};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::report::Report;
use antsreg_pool::{DeviceNote, DeviceWorkers, Devices, StageThreads};
use antsreg_register::{DeviceChoice, Grids, Options, Recipe};
use antsreg_study::batch::{self, Batch, BatchProgress, Job, Row, Status, Steps};
use antsreg_study::normalise::Dataset;
use antsreg_study::pair::{FixedInputs, PairFiles, Parameters, Record};
use antsreg_study::{Error as StudyError, subjects};
use crossbeam_channel::Receiver;

use crate::device_notes;

mod show;

/// Registrations of many subjects to one fixed image: the shared settings, and a job for each subject.
pub struct Study {
    /// Paths of the files that all registrations share: fixed image, mask and labels. The paths of the moving image,
    /// its mask and its labels are empty.
    pub shared: PairFiles,
    /// Settings of the registration, except the initial transform, which may be in a file.
    pub recipe: Recipe,
    /// The registration job of each subject.
    pub jobs: Vec<Job>,
    /// Whether any registration has a fixed or moving mask.
    pub masked: bool,
}

/// Settings for running a study (the registrations of many subjects to one fixed image): devices, number of workers,
/// and outputs about all subjects.
pub struct Order<'a> {
    /// The devices given on the command line.
    pub devices: &'a Devices,
    /// Number of simultaneous registrations on each device; `None` for the default number.
    pub workers: Option<usize>,
    /// Whether subjects that are done already are left out.
    pub resume: bool,
    /// Whether the plan of the run is only shown, and nothing is registered (`--dry-run`).
    pub dry_run: bool,
    /// Folders that are created for the outputs.
    pub folders: Vec<PathBuf>,
    /// Files and folders from which the list of subjects is read. No output may replace them.
    pub sources: &'a [PathBuf],
    /// Paths of the files that describe all subjects together, such as the summary table.
    pub of_all: OfAll,
}

/// Paths of the output files that describe all subjects of a study together; `None` for files that are not written.
#[derive(Default)]
pub struct OfAll {
    /// Path of the summary table.
    pub summary: Option<PathBuf>,
    /// Path of the HTML page, in the folder that contains all outputs.
    pub page: Option<PathBuf>,
    /// The BIDS dataset of derivatives to which the outputs belong; `None` if no description of a dataset is written.
    pub dataset: Option<Dataset>,
}

impl OfAll {
    fn paths(&self) -> Vec<PathBuf> {
        let own = [&self.summary, &self.page].into_iter().flatten().cloned();
        own.chain(self.dataset.iter().flat_map(Dataset::files)).collect()
    }
}

/// Runs the registrations of a study, in which many subjects are registered to one fixed image. `steps` says what is
/// done with each subject besides the registration. `read` reads the fixed image, its mask and labels while the devices
/// are opened.
pub fn run<S: Steps>(
    study: &Study,
    order: &Order,
    steps: &S,
    read: impl FnOnce() -> Result<FixedInputs, StudyError>,
    console: &mut Console,
) -> Result<(), CliError> {
    let devices = devices(study, order, console);
    let opening = antsreg_pool::open(&devices, order.workers)?;
    let fixed = read()?;
    let recipe = Recipe { start: fixed.start, ..study.recipe.clone() };
    let options = recipe.options(fixed.side.grid().shape)?;
    // First come the checks that do not depend on the subjects, for instance whether the levels fit the fixed image.
    options.check()?;
    options.check_levels(fixed.side.grid())?;
    let mut workers = DeviceWorkers::new::<CliError>(opening, || Ok(needed_bytes(study, &fixed, &options)))?;
    let threads = StageThreads::for_workers(workers.workers());
    let mut rows: Vec<Row> = study.jobs.iter().map(|job| row(order, job, &fixed, &options)).collect();
    if order.dry_run {
        let workers = workers.all()?;
        device_notes::show(&workers.notes(), console);
        let plan = show::Plan { study, fixed: &fixed, options: &options, devices: &workers.devices() };
        return antsreg_console::output::print(&show::plan(&plan, threads, &rows));
    }
    order.folders.iter().try_for_each(|folder| outputs::make_folder(folder))?;
    let jobs = study.jobs.iter().cloned().enumerate();
    let jobs: Vec<(usize, Job)> = jobs.filter(|(place, _)| rows[*place].status != Status::Skipped).collect();
    check_outputs(study, order, &jobs, &rows)?;
    let (began, count) = (Instant::now(), jobs.len());
    let command_line = command_line();
    let of = Batch { fixed: &fixed, options: &options, threads: console.threads, command_line: &command_line };
    let progress =
        Lines { notes: workers.notes(), count, iterations: console.wants_iterations(), console: Mutex::new(console) };
    let busy = batch::run(&of, steps, jobs, &mut workers, threads, &progress, &mut rows)?;
    let wall = began.elapsed().as_secs_f64();
    for path in write_of_all(study, &order.of_all, &command_line, &rows)? {
        progress.console().note(format_args!("wrote {}", path.display()));
    }
    end(order, &rows, wall, busy)
}

/// Returns the devices that run the registrations of a study. The setting `auto` becomes the CPU if the GPU kernels do
/// not support the size of the window of windowed cross-correlation.
fn devices(study: &Study, order: &Order, console: &mut Console) -> Devices {
    let auto = *order.devices == Devices::default();
    match study.recipe.too_wide_for_gpu(study.masked).filter(|_| auto) {
        Some(reason) => {
            console.note(format_args!("device: cpu, because {reason}"));
            Devices::One(DeviceChoice::Cpu)
        }
        None => order.devices.clone(),
    }
}

/// The row of a subject in the summary table before the run: skipped if the subject is done already, else not begun.
fn row(order: &Order, job: &Job, fixed: &FixedInputs, options: &Options) -> Row {
    let parameters = Parameters::of(&job.files, fixed, options);
    let record = order.resume.then(|| batch::finished(&job.files, &job.names, fixed, &parameters)).flatten();
    let status = if record.is_some() { Status::Skipped } else { Status::Failed("not begun".into()) };
    Row { subject: job.name.clone(), status, record, names: job.names.clone() }
}

/// Free memory that a GPU needs for the largest subject, bytes.
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

/// Checks that all outputs can be written, and that no output is an input of any subject, including the subjects that
/// are done already.
fn check_outputs(study: &Study, order: &Order, jobs: &[(usize, Job)], rows: &[Row]) -> Result<(), CliError> {
    let own = study.jobs.iter().flat_map(|job| job.files.inputs());
    let shared = study.shared.fixed_inputs();
    let inputs = own.chain(shared).chain(order.sources.iter().map(PathBuf::as_path));
    let written = jobs.iter().flat_map(|(place, _)| rows[*place].names.all());
    let of_all = order.of_all.paths();
    Ok(outputs::check(of_all.iter().map(PathBuf::as_path).chain(written), inputs)?)
}

/// Writes the summary table and the HTML page about all subjects, and the description of the dataset.
fn write_of_all(
    study: &Study,
    of_all: &OfAll,
    command_line: &[String],
    rows: &[Row],
) -> Result<Vec<PathBuf>, CliError> {
    let mut outputs = Outputs::new();
    if let Some(summary) = &of_all.summary {
        outputs.write::<CliError>(summary, |path| Ok(batch::write_summary(path, rows)?))?;
    }
    if let (Some(page), Some(summary)) = (&of_all.page, &of_all.summary) {
        let folder = page.parent().unwrap_or(Path::new(""));
        let html = batch::page(folder, &study.shared.fixed, summary, command_line, rows)?;
        outputs.write::<CliError>(page, |path| Ok(outputs::write_file(path, html.as_bytes())?))?;
    }
    let mut written = outputs.commit()?;
    if let Some(dataset) = &of_all.dataset {
        written.extend(dataset.write()?);
    }
    Ok(written)
}

/// Prints the outcomes of all subjects. Returns an error if a subject failed.
fn end(order: &Order, rows: &[Row], wall: f64, busy: f64) -> Result<(), CliError> {
    let failed: Vec<String> =
        rows.iter().filter(|row| matches!(row.status, Status::Failed(_))).map(|row| row.subject.clone()).collect();
    antsreg_console::output::print(&show::outcome(rows, wall, busy))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(CliError::SomeFailed { failed, of: rows.len(), summary: order.of_all.summary.clone() })
}

/// Prints the progress of many registrations, a line for each event.
struct Lines<'a> {
    console: Mutex<&'a mut Console>,
    notes: Receiver<DeviceNote>,
    count: usize,
    iterations: bool,
}

impl<'a> Lines<'a> {
    /// Locks the console for printing. Before other text, the notes about devices that have been received so far are
    /// printed.
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
        for warning in &record.warning_values {
            console.warn(format_args!("{subject}: {warning}{}", advice::of_warning(warning)));
        }
    }

    fn failed(&self, ended: usize, subject: &str, error: &StudyError) {
        let advice = advice::of_study(error);
        self.console().warn(format_args!("[{ended}/{}] {subject} failed: {error}{advice}", self.count));
    }
}
