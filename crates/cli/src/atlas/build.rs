//! The whole atlas on one machine.

use std::fs::File;
use std::path::Path;

use antsreg_pool::WriteQueue;
use antsreg_study::template::{Layout, write_json};
use serde::Serialize;

use super::args::Args;
use super::pass::{Before, Done, Pass, PassSeconds};
use super::plan::Plan;
use super::session::Session;
use super::start::{First, make_folder};
use super::{Error, finish, parameters, pass, start};
use crate::cohort::Engines;
use crate::device::Description;
use crate::devices;
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::register;

/// What the last run of the command took.
#[derive(Debug, Serialize)]
struct Record {
    program: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    devices: Vec<Description>,
    threads: usize,
    seconds: Seconds,
}

/// Wall times.
#[derive(Debug, Default, Serialize)]
struct Seconds {
    /// Subjects read, a device ready, the first template made.
    ready: f64,
    /// Each pass of this run.
    passes: Vec<PassSeconds>,
    /// Handing out, until all files were written.
    finishing: f64,
    /// Everything.
    total: f64,
}

/// Builds it, going on where an earlier run was stopped.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let Some(folder) = &args.output else {
        return Err(UsageError::Missing { option: "--output", why: "to have a place for the atlas" }.into());
    };
    let devices = || register::devices(&args.settings, &[], false, console);
    let opening = (!args.plan_only).then(devices).map(|devices| devices::open(&devices, None));
    let (plan, images) = Plan::make(args)?;
    let session = Session::new(plan, folder);
    session.keep(images);
    let first = start::make(&session)?;
    let engines = opening.map(|opening| Engines::of(opening, || parameters::needed_bytes(&session))).transpose()?;
    make_folder(folder)?;
    let _lock = lock(folder)?;
    session.plan.settle(folder)?;
    remove_leftovers(folder);
    crate::interruption::resumable();
    let left_out: Vec<String> = session.plan.file.subjects.iter().filter_map(|subject| subject.complaint()).collect();
    for complaint in &left_out {
        console.warn(format_args!("left out: {complaint}"));
    }
    match engines {
        None => first.map_or(Ok(()), |first| start::write(&session, &first)?().map(drop))?,
        Some(engines) => {
            passes(&session, first, engines, console)?;
            console.note(format_args!("wrote {}", folder.display()));
        }
    }
    match left_out.is_empty() {
        true => Ok(()),
        false => Err(Error::LeftOut { subjects: left_out, all: session.plan.file.subjects.len() }.into()),
    }
}

fn passes(
    session: &Session,
    first: Option<First>,
    mut engines: Engines,
    console: &mut Console,
) -> Result<(), CliError> {
    let mut seconds = Seconds { ready: console.elapsed().as_secs_f64(), ..Seconds::default() };
    let background = engines.background(console.threads)?;
    let notes = engines.notes();
    // Each task is a step with several files, all written at once.
    let devices = WriteQueue::with(console.threads.div_ceil(4), session.included.len(), background, |queue| {
        let first = first.map(|first| {
            let template = first.template.clone();
            queue.push(move || {
                let record = start::write(session, &first)?;
                Ok(move || record().map(drop))
            });
            template
        });
        let mut last: Option<Box<Done>> = None;
        for number in session.plan.file.first_pass..=session.plan.file.last_pass {
            let before = match (&last, &first) {
                (Some(done), _) => Before::Done(done),
                (None, Some(template)) => Before::First(template),
                (None, None) => Before::Files,
            };
            notes.tell(console);
            match pass::run(session, &mut engines, number, before, queue, console)? {
                Pass::NotNeeded => break,
                Pass::DoneBefore => {}
                Pass::Done(done) => {
                    seconds.passes.push(done.seconds);
                    last = Some(done);
                }
            }
        }
        notes.tell(console);
        let devices = engines.devices();
        finish::run(session, engines, last.as_deref(), queue, console)?;
        Ok(devices)
    })?;
    seconds.total = console.elapsed().as_secs_f64();
    let passed: f64 = seconds.passes.iter().map(|pass| pass.registering + pass.updating).sum();
    seconds.finishing = seconds.total - seconds.ready - passed;
    let record = Record {
        program: "antsreg-gpu",
        version: env!("CARGO_PKG_VERSION"),
        command_line: session.plan.file.command_line.clone(),
        devices,
        threads: console.threads,
        seconds,
    };
    Ok(write_json(&session.layout.root().join("record.json"), &record)?)
}

/// Keeps other processes from building the same atlas; ends with the process, however it ends.
fn lock(folder: &Path) -> Result<File, CliError> {
    let path = Layout::lock(folder);
    let wrap = |source| CliError::Write { path: path.clone(), source };
    let file = File::create(&path).map_err(wrap)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Busy { folder: folder.into() }.into()),
        // A file system without locks: nothing is known of others.
        Err(std::fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Removes files that a killed run did not finish. With the lock held they are nobody's.
fn remove_leftovers(folder: &Path) {
    let is_leftover = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') && name.ends_with(".part")
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|found| found.is_dir()) {
                folders.push(path);
            } else if is_leftover(&path) {
                // One that cannot be removed does no harm.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}
