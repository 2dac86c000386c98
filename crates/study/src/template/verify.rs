//! Compares the folder of a template with its plan: the files that the steps of the plan write, their lengths and
//! digests, and files that no step writes.

use std::path::{Path, PathBuf};

use super::compared::Found;
use super::digest::FileRecord;
use super::folder;
use super::layout::Layout;
use super::manifest::{self, Manifest};
use super::results::TemplateResults;
use super::session::Session;
use super::step::Step;
use crate::Error;

/// Compares every file of a template, including inputs, with the plan and the manifests. Every step of the plan must be
/// done, up to the pass after which the template no longer moves. Returns the number of files.
///
/// # Errors
/// [`Unlike`](super::Error::Unlike) names files that are missing, files that have changed, and files in the folder that
/// belong to no step; a plan that cannot be read.
pub fn verify(root: &Path) -> Result<usize, Error> {
    let session = Session::open(root)?;
    let mut found = Found::default();
    for subject in session.plan.subjects.iter().filter(|subject| subject.left_out.is_none()) {
        subject.images.iter().chain(&subject.labels).for_each(|file| found.compare(file.path.clone(), file));
    }
    compare_steps(&mut found, &session);
    let undigested =
        [Layout::plan(root), Layout::record(root), session.layout.report(), session.layout.convergence()];
    found.known.extend(undigested);
    found.differences.foreign = files(root).into_iter().filter(|path| !found.known.contains(path)).collect();
    Ok(found.end()?)
}

/// Compares the files of all steps of the plan.
fn compare_steps(found: &mut Found, session: &Session) {
    compare_step(found, session, &Step::Start);
    let is_done = |step: &Step| session.layout.manifest(step).exists();
    let mut needed = true;
    for pass in session.plan.first_pass..=session.plan.last_pass {
        for subject in &session.plan.subjects {
            let step = Step::Register { pass, subject: subject.name.clone() };
            if needed && subject.left_out.is_none() || is_done(&step) {
                compare_step(found, session, &step);
            }
        }
        for step in [Step::Average { pass }, Step::Update { pass }] {
            let manifest = (needed || is_done(&step)).then(|| compare_step(found, session, &step)).flatten();
            // Results of an average are no results of a template, so they do not end the passes.
            let results = manifest.and_then(|manifest| serde_json::from_value(manifest.results).ok());
            needed &= !results.is_some_and(|results: TemplateResults| results.converged);
        }
    }
    let extension = session.extension();
    for &subject in &session.included {
        let subject = session.subject(subject).name.clone();
        compare_step(found, session, &Step::FinishSubject { subject, extension });
    }
    if compare_step(found, session, &Step::Finish { extension }).is_some() {
        let report = [session.layout.report(), session.layout.convergence()];
        found.differences.missing.extend(report.into_iter().filter(|path| !path.exists()));
    }
}

/// Compares the files of a step with its manifest, and the manifest with the plan and with the records of its input
/// files. Returns the manifest, unless the step has none that can be read.
fn compare_step(found: &mut Found, session: &Session, step: &Step) -> Option<Manifest> {
    let path = session.layout.manifest(step);
    found.known.insert(path.clone());
    let Ok(manifest) = manifest::read::<Manifest>(&path) else {
        let differences = &mut found.differences;
        if path.exists() { &mut differences.changed } else { &mut differences.missing }.push(path);
        return None;
    };
    let is_same = |input: &FileRecord| found.records.get(&input.path).is_none_or(|record| record == input);
    let is_of_plan = session.stage(step.clone(), manifest.inputs.clone()).has_made(&manifest);
    if !is_of_plan || !manifest.inputs.iter().all(is_same) {
        found.differences.changed.push(path);
    }
    for file in &manifest.outputs {
        found.compare(session.layout.root().join(&file.path), file);
    }
    Some(manifest)
}

/// All files in the folder of a template and the folders below, sorted. Hidden files and folders are left out.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(next) = folders.pop() {
        for path in folder::entries(&next) {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            match path.is_dir() && !path.is_symlink() {
                _ if is_hidden => {}
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}
