//! Runs the registrations of many subjects to one fixed image: checks everything, registers all subjects, and writes the
//! files about all of them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::io::outputs::{self, Outputs};
use antsreg_pool::{DeviceWorkers, Devices, StageThreads};
use antsreg_register::verdict::Judgement;
use antsreg_register::{Description, Grids, Options, Recipe};

use super::contrast;
use super::observer::{AfterNotes, BatchObserver};
use super::of_all::{OfAll, TextFile};
use super::page::page;
use super::register::{Batch, register_all};
use super::resume::finished;
use super::rows::{Job, Row, Status};
use super::steps::Steps;
use super::summary::write_summary;
use crate::pair::{FixedInputs, PairFiles, Parameters};
use crate::{Error, Invocation, RunWarning, subjects};

/// Registrations of many subjects to one fixed image: the shared options, and a job for each subject.
#[derive(Debug, Clone)]
pub struct Study {
    /// Paths of the files that all registrations share: fixed image, mask and labels. The paths of the moving image,
    /// its mask and its labels are empty.
    pub shared: PairFiles,
    /// Options of the registration, except the initial transform, which may be in a file.
    pub recipe: Recipe,
    /// The registration of each subject.
    pub jobs: Vec<Job>,
    /// Whether any registration has a fixed or moving mask.
    pub masked: bool,
}

/// How the registrations of a study are run: devices, number of workers, and outputs about all subjects.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// The devices.
    pub devices: &'a Devices,
    /// Number of simultaneous registrations on each device; `None` for the default number.
    pub workers: Option<usize>,
    /// Whether subjects that are done already are left out.
    pub resume: bool,
    /// Folders that are created for the outputs.
    pub folders: Vec<PathBuf>,
    /// Files and folders from which the list of subjects is read. No output may replace them.
    pub sources: &'a [PathBuf],
    /// The files that describe all subjects together.
    pub of_all: OfAll,
}

/// A study that is ready to run: the fixed image has been read, and the first device is open.
pub struct Plan<'a, S> {
    /// The study.
    pub study: &'a Study,
    /// Inputs that all registrations share: fixed images, mask and labels.
    pub fixed: FixedInputs,
    /// The complete options of the registrations.
    pub options: Options,
    /// Numbers of threads for reading and writing.
    pub threads: StageThreads,
    /// The row of each subject: skipped if the subject is done already, else not begun.
    pub rows: Vec<Row>,
    order: &'a Order<'a>,
    steps: &'a S,
    workers: DeviceWorkers,
}

/// The outcome of a study whose files are written.
#[derive(Debug)]
pub struct Outcome {
    /// The row of each subject.
    pub rows: Vec<Row>,
    /// Time from the first to the last subject, s.
    pub wall: f64,
    /// Share of this time in which the workers computed.
    pub busy: f64,
}

impl Outcome {
    /// Names of the subjects that failed.
    pub fn failed(&self) -> Vec<String> {
        let failed = self.rows.iter().filter(|row| matches!(row.status, Status::Failed(_)));
        failed.map(|row| row.subject.clone()).collect()
    }

    /// Names of the subjects whose result is wrong by its verdict.
    pub fn wrong(&self) -> Vec<String> {
        let verdict = |row: &Row| row.record.as_ref()?.verdict.as_ref().map(|verdict| verdict.judgement);
        let wrong = self.rows.iter().filter(|row| verdict(row) == Some(Judgement::Wrong));
        wrong.map(|row| row.subject.clone()).collect()
    }
}

/// Registers the subjects of a study and writes all files. `steps` says what is done with each subject besides the
/// registration. `read` reads the fixed image, its mask and labels.
///
/// # Errors
/// The errors of [`plan`] and [`Plan::run`].
pub fn run<S: Steps>(
    study: &Study,
    order: &Order,
    steps: &S,
    read: impl FnOnce() -> Result<FixedInputs, Error>,
    invocation: &Invocation,
    observer: &dyn BatchObserver,
) -> Result<Outcome, Error> {
    plan(study, order, steps, read, observer)?.run(invocation, observer)
}

/// Reads the fixed image while the devices are opened, and checks what concerns all subjects. Nothing is written.
///
/// # Errors
/// Files that cannot be read; options that do not suit the fixed image; a device that cannot be used.
pub fn plan<'a, S: Steps>(
    study: &'a Study,
    order: &'a Order,
    steps: &'a S,
    read: impl FnOnce() -> Result<FixedInputs, Error>,
    observer: &dyn BatchObserver,
) -> Result<Plan<'a, S>, Error> {
    let (devices, note) = order.devices.for_window(study.recipe.too_wide_for_gpu(study.masked));
    note.iter().for_each(|note| observer.device(note));
    let opening = antsreg_pool::open(&devices, order.workers)?;
    let fixed = read()?;
    let recipe = Recipe { start: fixed.start, ..study.recipe.clone() };
    let options = recipe.options(fixed.side.grid().shape)?;
    // First come the checks that do not depend on the subjects, for instance whether the levels fit the fixed image.
    options.check()?;
    options.check_levels(fixed.side.grid())?;
    let workers = DeviceWorkers::new::<Error>(opening, || Ok(needed_bytes(study, &fixed, &options)))?;
    let threads = StageThreads::for_workers(workers.workers());
    let rows = study.jobs.iter().map(|job| row(order, job, &fixed, &options)).collect();
    Ok(Plan { study, fixed, options, threads, rows, order, steps, workers })
}

/// The row of a subject before the run: skipped if the subject is done already, else not begun.
fn row(order: &Order, job: &Job, fixed: &FixedInputs, options: &Options) -> Row {
    let parameters = Parameters::of(&job.files, fixed, options);
    let record = order.resume.then(|| finished(&job.files, &job.names, fixed, &parameters)).flatten();
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

impl<S: Steps> Plan<'_, S> {
    /// Waits until all devices are open, and returns the device of each worker. Nothing is registered.
    ///
    /// # Errors
    /// A device that cannot be used.
    pub fn devices(&mut self, observer: &dyn BatchObserver) -> Result<Vec<Description>, Error> {
        self.workers.wait_for_all()?;
        self.workers.notes().try_iter().for_each(|note| observer.device(&note));
        Ok(self.workers.devices())
    }

    /// Registers the subjects and writes all files.
    ///
    /// # Errors
    /// Outputs that cannot be written; a thread that cannot be started; a device that cannot be used. The failure of a
    /// subject is told to the observer and stands in the row of the subject.
    pub fn run(self, invocation: &Invocation, observer: &dyn BatchObserver) -> Result<Outcome, Error> {
        let Plan { study, fixed, options, threads, mut rows, order, steps, mut workers } = self;
        order.folders.iter().try_for_each(|folder| outputs::make_folder(folder))?;
        let jobs = study.jobs.iter().cloned().enumerate();
        let jobs: Vec<(usize, Job)> = jobs.filter(|(place, _)| rows[*place].status != Status::Skipped).collect();
        check_outputs(study, order, &jobs, &rows)?;
        let began = Instant::now();
        let of = Batch { fixed: &fixed, options: &options, invocation };
        let told = AfterNotes { observer, notes: workers.notes() };
        told.begins(jobs.len());
        let busy = register_all(&of, steps, jobs, &mut workers, threads, &told, &mut rows)?;
        let wall = began.elapsed().as_secs_f64();
        for (n, text) in contrast::unlike(&rows) {
            told.warning(&rows[n].subject, &RunWarning::Text(text.clone()));
            if let Some(record) = &mut rows[n].record {
                record.warnings.insert(0, text);
            }
        }
        for path in write_of_all(study, &order.of_all, invocation.command_line, &rows)? {
            told.wrote(&path);
        }
        Ok(Outcome { rows, wall, busy })
    }
}

/// Checks that all outputs can be written, that no output is an input of any subject, including the subjects that are
/// done already, and that the files about all subjects replace no files of another origin.
fn check_outputs(study: &Study, order: &Order, jobs: &[(usize, Job)], rows: &[Row]) -> Result<(), Error> {
    let own = study.jobs.iter().flat_map(|job| job.files.inputs());
    let shared = study.shared.fixed_inputs();
    let inputs = own.chain(shared).chain(order.sources.iter().map(PathBuf::as_path));
    let written = jobs.iter().flat_map(|(place, _)| rows[*place].names.all());
    outputs::check(order.of_all.paths().chain(written), inputs)?;
    order.of_all.check()
}

/// Writes the summary table, the HTML page about all subjects and the further texts, and returns their paths.
fn write_of_all(study: &Study, of_all: &OfAll, command_line: &[String], rows: &[Row]) -> Result<Vec<PathBuf>, Error> {
    let mut outputs = Outputs::new();
    if let Some(summary) = &of_all.summary {
        outputs.write::<Error>(summary, |path| write_summary(path, rows))?;
    }
    if let (Some(page_to), Some(summary)) = (&of_all.page, &of_all.summary) {
        let folder = page_to.parent().unwrap_or(Path::new(""));
        let html = page(folder, &study.shared.fixed, summary, command_line, rows)?;
        outputs.write::<Error>(page_to, |path| Ok(outputs::write_file(path, html.as_bytes())?))?;
    }
    for TextFile { path, text, .. } in &of_all.texts {
        outputs.write::<Error>(path, |path| Ok(outputs::write_file(path, text.as_bytes())?))?;
    }
    Ok(outputs.commit()?)
}
