//! Runs `batch`: everything is checked first, then all subjects take their `course`, then it is told how it went.

use std::path::PathBuf;
use std::time::Instant;

use antsreg_pool::StageThreads;
use serde_json::Value;

use super::args::Args;
use super::course::{self, Job};
use super::summary::{self, Row, Status};
use super::{resume, show};
use crate::cohort::{Engines, Largest, largest_grid};
use crate::device::Description;
use crate::devices;
use crate::error::CliError;
use crate::progress::Console;
use crate::register::{self, Files, FixedInputs, Plan, WantedImages};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_study::subjects::Subject;

/// Runs `batch`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let subjects = args.jobs()?;
    let shared = args.shared();
    register::check(&args.settings, &shared.channels)?;
    let masked = args.fixed_mask.is_some() || subjects.iter().any(|(subject, _)| subject.mask.is_some());
    let chosen = register::devices(&args.settings, &shared.channels, masked, console);
    let opening = devices::open(&chosen, args.workers);
    let fixed = FixedInputs::read(&shared)?;
    // Finds what no subject could change: levels that do not fit the image, for instance.
    let plan = Plan::new(&args.settings, fixed.image.grid.shape, Description::Cpu)?
        .with_channels(&args.settings, &shared.channels);
    let mut engines = Engines::of(opening, || Ok(needed_bytes(args, &subjects, &fixed, &plan)))?;
    let stage_threads = StageThreads::for_workers(engines.workers());
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
        return crate::output::print(&show::plan(args, &fixed, &plan, &engines.devices(), stage_threads, &rows));
    }
    outputs::make_folder(&args.output)?;
    let jobs: Vec<Job> = jobs.into_iter().filter(|job| rows[job.place].status != Status::Skipped).collect();
    check_outputs(args, &jobs, &rows)?;
    let began = Instant::now();
    let busy = course::run(jobs, &fixed, &mut engines, stage_threads, console, &mut rows)?;
    let wall = began.elapsed().as_secs_f64();
    let mut outputs = Outputs::new();
    outputs.write(&args.summary(), |path| summary::write(path, &rows))?;
    outputs.commit()?;
    console.note(format_args!("wrote {}", args.summary().display()));
    end(args, &rows, wall, busy)
}

/// Memory that a GPU must have for the largest subject, bytes.
fn needed_bytes(args: &Args, subjects: &[(Subject, register::Args)], fixed: &FixedInputs, plan: &Plan) -> u64 {
    let images: Vec<&PathBuf> = subjects.iter().flat_map(|(subject, _)| &subject.images).collect();
    let largest = Largest {
        fixed: std::iter::once(&fixed.image).chain(&fixed.channels).map(|image| &image.grid).collect(),
        moving: largest_grid(&images),
        masked: [fixed.mask.is_some(), subjects.iter().any(|(subject, _)| subject.mask.is_some())],
        plan,
        images: Some(WantedImages::new(&args.writing)),
    };
    largest.bytes_on_device()
}

/// Whether the folder takes files, and none of them is an input of any subject.
fn check_outputs(args: &Args, jobs: &[Job], rows: &[Row]) -> Result<(), CliError> {
    outputs::check_writable(&args.summary())?;
    let shared = [args.fixed_mask.as_ref(), args.fixed_labels.as_ref()];
    let own = jobs.iter().flat_map(|job| {
        let register::Args { fixed, moving, moving_mask, moving_labels, .. } = &job.args;
        [Some(fixed), Some(moving), moving_mask.as_ref(), moving_labels.as_ref()]
    });
    let further =
        jobs.iter().flat_map(|job| job.args.channels.iter().flat_map(|files| [&files.fixed, &files.moving]));
    let inputs = shared.into_iter().chain(own).flatten().chain(further).chain(&args.subjects);
    let summary = args.summary();
    let targets = jobs.iter().flat_map(|job| rows[job.place].files.all()).chain([summary.as_path()]);
    Ok(outputs::check_none_is_input(targets, inputs)?)
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
