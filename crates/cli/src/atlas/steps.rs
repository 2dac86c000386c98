//! One step at a time, for engines that run many.

use std::path::{Path, PathBuf};

use antsreg_pool::WriteQueue;
use antsreg_study::template::{self, FileRecord, Layout, Manifest, read_json};

use super::args::{OfPass, RegisterOne, Step, Update};
use super::plan::Plan;
use super::session::Session;
use super::start::make_folder;
use super::{Error, average, finish, parameters, register_one, update};
use crate::cohort::Engines;
use crate::device::DeviceChoice;
use crate::devices::{self, Devices};
use crate::error::CliError;
use crate::progress::Console;
use crate::register::{self, Settings};

/// Runs a step of a planned atlas.
pub fn run(step: &Step, console: &mut Console) -> Result<(), CliError> {
    match step {
        Step::RegisterOne(args) => register(args, console),
        Step::Average(args) => average(args, console),
        Step::Update(args) => update(args, console),
        Step::Finish(args) => {
            let session = open(&args.folder)?;
            let devices = chosen(&args.device, &session, console);
            let engines = Engines::of(devices::open(&devices, None), || parameters::needed_bytes(&session))?;
            engines.notes().tell(console);
            let threads = session.included.len();
            let background = engines.background(console.threads)?;
            WriteQueue::with(threads, threads, background, |queue| {
                finish::run(&session, engines, None, queue, console)
            })
        }
        Step::Verify(args) => verify(&args.folder, console),
    }
}

fn open(folder: &Path) -> Result<Session, CliError> {
    crate::interruption::resumable();
    Ok(Session::new(Plan::read(folder)?, folder))
}

fn register(args: &RegisterOne, console: &mut Console) -> Result<(), CliError> {
    let choice = args.device.one()?;
    let (session, pass) = (open(&args.folder)?, args.pass);
    session.check_pass(pass)?;
    let subject = session.position(&args.subject)?;
    make_folder(&session.layout.registrations(pass))?;
    let stage = session.register_stage(pass, subject)?;
    if stage.done().is_some() {
        return done_before(console);
    }
    if let Some(reason) = &session.subject(subject).left_out {
        console.warn(format_args!("left out: {} ({reason})", args.subject));
        return Ok(stage.finish(None, Vec::new(), format!("left out: {reason}")).map(drop)?);
    }
    if let Some(after) = session.converged_before(pass)? {
        return not_needed(after, console, stage.skip(after));
    }
    let template = session.template_images(session.before(pass))?;
    let mut engines = engines(choice, &session, console)?;
    let images = session.images(subject)?;
    let computed = register_one::compute(engines.one(), &session, pass, subject, &template, &images)?;
    let brought = register_one::judge(&template, computed)?;
    register_one::write(&session, pass, subject, &brought)?().map(drop)
}

/// What `auto` stands for is the same in every step, whether it registers or not: so are the bytes that it gives.
fn chosen(device: &Devices, session: &Session, console: &mut Console) -> Devices {
    let settings = Settings { device: device.clone(), ..session.plan.args.settings.clone() };
    register::devices(&settings, &[], false, console)
}

/// One worker on this device.
fn engines(choice: DeviceChoice, session: &Session, console: &mut Console) -> Result<Engines, CliError> {
    let choice = chosen(&Devices::One(choice), session, console).one()?;
    let engines = Engines::of(devices::open_alone(choice), || parameters::needed_bytes(session))?;
    engines.notes().tell(console);
    Ok(engines)
}

fn average(args: &OfPass, console: &mut Console) -> Result<(), CliError> {
    let (session, pass) = (open(&args.folder)?, args.pass);
    session.check_pass(pass)?;
    let stage = session.average_stage(pass)?;
    if stage.done().is_some() {
        return done_before(console);
    }
    if let Some(after) = session.converged_before(pass)? {
        return not_needed(after, console, stage.skip(after));
    }
    let template = session.template_images(session.before(pass))?;
    average::write(&session, pass, &average::from_files(&session, pass, &template)?)?().map(drop)
}

fn update(args: &Update, console: &mut Console) -> Result<(), CliError> {
    let choice = args.device.one()?;
    let (session, pass) = (open(&args.folder)?, args.pass);
    session.check_pass(pass)?;
    let stage = session.update_stage(pass)?;
    if stage.done().is_some() {
        return done_before(console);
    }
    if let Some(after) = session.converged_before(pass)? {
        return not_needed(after, console, stage.skip(after));
    }
    let template = session.template_images(session.before(pass))?;
    let averaged = average::read(&session, pass, &template)?;
    let last = update::shape_before(&session, pass)?;
    let mut engines = engines(choice, &session, console)?;
    let updated = update::compute(engines.one(), &session, pass, &averaged, &template, last.as_ref())?;
    update::write(&session, pass, &updated)?()?;
    console.note(format_args!("template moved by {:.3} voxels", updated.results.moved_mean_voxels));
    Ok(())
}

fn done_before(console: &mut Console) -> Result<(), CliError> {
    console.note("done before");
    Ok(())
}

fn not_needed(
    after: usize,
    console: &mut Console,
    skipped: Result<Manifest, template::Error>,
) -> Result<(), CliError> {
    console.note(format_args!("not needed: the template no longer moves after pass {after}"));
    Ok(skipped.map(drop)?)
}

/// Looks whether every file has the length and digest that the plan and the manifests say.
fn verify(folder: &Path, console: &mut Console) -> Result<(), CliError> {
    let session = open(folder)?;
    let mut records: Vec<(PathBuf, FileRecord)> = Vec::new();
    for subject in session.plan.file.subjects.iter().filter(|subject| subject.left_out.is_none()) {
        records.extend(subject.images.iter().chain(&subject.labels).map(|file| (file.path.clone(), file.clone())));
    }
    for path in manifests(folder)? {
        let manifest: Manifest = read_json(&path)?;
        records.extend(manifest.outputs.into_iter().map(|file| (folder.join(&file.path), file)));
    }
    let unlike: Vec<String> = records
        .iter()
        .filter(|(place, record)| FileRecord::of(place, record.path.clone()).ok().as_ref() != Some(record))
        .map(|(place, _)| place.display().to_string())
        .collect();
    if !unlike.is_empty() {
        return Err(Error::Unlike { files: unlike, all: records.len() }.into());
    }
    console.note(format_args!("{} files are as the manifests say", records.len()));
    Ok(())
}

/// Every manifest in the folder.
fn manifests(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let wrap = |source| CliError::Read { path: folder.into(), source };
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).map_err(wrap)? {
            let path = entry.map_err(wrap)?.path();
            let is_manifest = path.extension().is_some_and(|extension| extension == "json");
            let is_other = path == Layout::plan(folder) || path == folder.join("record.json");
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest && !is_other {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
