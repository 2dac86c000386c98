//! Compares the files of a template with the lengths and digests that its plan and manifests contain.

use std::path::{Path, PathBuf};

use super::digest::FileRecord;
use super::layout::Layout;
use super::manifest::{self, Manifest};
use super::plan::Plan;
use super::{Error as TemplateError, folder};
use crate::Error;

/// Compares the size and digest of every file of a template, including inputs, with those in the plan and in the
/// manifests. Returns the number of files.
///
/// # Errors
/// [`TemplateError::Unlike`]; a plan or manifest that cannot be read.
pub fn verify(root: &Path) -> Result<usize, Error> {
    let plan = Plan::read(root)?;
    let mut files: Vec<(PathBuf, FileRecord)> = Vec::new();
    for subject in plan.subjects.iter().filter(|subject| subject.left_out.is_none()) {
        files.extend(subject.images.iter().chain(&subject.labels).map(|file| (file.path.clone(), file.clone())));
    }
    for path in manifests(root) {
        let manifest: Manifest = manifest::read(&path)?;
        files.extend(manifest.outputs.into_iter().map(|file| (root.join(&file.path), file)));
    }
    check(&files)?;
    Ok(files.len())
}

/// Checks that the input files of a template have not changed since its plan was made.
///
/// # Errors
/// [`TemplateError::Unlike`].
pub fn check_inputs(files: &[FileRecord]) -> Result<(), TemplateError> {
    check(&files.iter().map(|file| (file.path.clone(), file.clone())).collect::<Vec<_>>())
}

fn check(files: &[(PathBuf, FileRecord)]) -> Result<(), TemplateError> {
    let is_unlike = |(place, record): &&(PathBuf, FileRecord)| {
        FileRecord::of(place, record.path.clone()).ok().as_ref() != Some(record)
    };
    let unlike: Vec<String> = files.iter().filter(is_unlike).map(|(place, _)| place.display().to_string()).collect();
    match unlike.is_empty() {
        true => Ok(()),
        false => Err(TemplateError::Unlike { files: unlike, all: files.len() }),
    }
}

/// Paths of all manifests in the folder of a template and the folders below, sorted.
fn manifests(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(next) = folders.pop() {
        for path in folder::entries(&next) {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let is_manifest = path.extension().is_some_and(|extension| extension == "json");
            if path.is_dir() && !is_hidden {
                folders.push(path);
            } else if is_manifest && path != Layout::plan(root) && path != Layout::record(root) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
