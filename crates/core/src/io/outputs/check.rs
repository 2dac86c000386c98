//! Checks whether a path can be used for an output file, before anything is computed and again when the output is
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::super::companion;
use super::error::{OutputError, OutputErrorKind};
use super::temporary::Temporary;
use crate::failpoint::{self, Operation};

/// Files that this process is writing, each with a description for messages.
static PROTECTED: Mutex<Vec<(PathBuf, &'static str)>> = Mutex::new(Vec::new());

/// Protects `path`, an existing file that the process is writing, from replacement by an output. `what` names the
/// file in messages, for instance "the log".
pub fn protect(path: &Path, what: &'static str) {
    if let Ok(path) = path.canonicalize() {
        PROTECTED.lock().unwrap_or_else(PoisonError::into_inner).push((path, what));
    }
}

/// Checks all outputs of a command, before anything is computed: each can be the name of a file (see [`check_name`]),
/// files can be created in each folder, no two outputs have the same name, and no output would replace an input.
/// `inputs` are all files that are read, also tables and lists and the files that these name.
///
/// # Errors
/// What is wrong with the first output that cannot be written.
pub fn check<T: AsRef<Path>, P: AsRef<Path>>(
    targets: impl IntoIterator<Item = T>,
    inputs: impl IntoIterator<Item = P>,
) -> Result<(), OutputError> {
    let targets = targets.into_iter().map(|target| target.as_ref().to_owned());
    let targets: Vec<PathBuf> = targets.flat_map(|target| [companion(&target), Some(target)]).flatten().collect();
    let mut folders = BTreeSet::new();
    for target in &targets {
        let folder = check_target(target)?;
        if folders.insert(folder) {
            Temporary::folder_in(folder).map(drop).map_err(|source| folder_error(folder, source))?;
        }
    }
    check_different(&targets)?;
    check_no_input(&targets, inputs)
}

/// Checks outputs as [`check`] does, for commands whose outputs may replace their inputs. Such a command reads its
/// inputs before the outputs get their names.
///
/// # Errors
/// Those of [`check`], except that an output may be an input.
pub fn check_in_place<T: AsRef<Path>>(targets: impl IntoIterator<Item = T>) -> Result<(), OutputError> {
    check(targets, [] as [&Path; 0])
}

/// Checks that `target` can be the name of a file: the folder exists, the name is not too long, and it is not that of
/// a folder, a device, a write-protected file or a protected file ([`protect`]).
///
/// # Errors
/// What is wrong with the name.
pub fn check_name(target: &Path) -> Result<(), OutputError> {
    check_target(target).map(drop)
}

/// Checks that no file has the name of a folder that will be created.
///
/// # Errors
/// A file has this name.
pub fn check_folder(path: &Path) -> Result<(), OutputError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => Err(OutputError::new(path, OutputErrorKind::NotAFolder)),
        _ => Ok(()),
    }
}

/// Creates a folder and its parents, unless they exist.
///
/// # Errors
/// The folder cannot be created, or a file has its name.
pub fn make_folder(path: &Path) -> Result<(), OutputError> {
    check_folder(path)?;
    failpoint::check(Operation::Create)
        .and_then(|()| std::fs::create_dir_all(path))
        .map_err(|source| folder_error(path, source))
}

/// Returns an error if two outputs have the same name in the same folder, even if their paths name the folder in
/// different ways.
fn check_different(targets: &[PathBuf]) -> Result<(), OutputError> {
    let mut folders: BTreeMap<&Path, PathBuf> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for target in targets {
        let folder = folder_of(target);
        let canonical =
            folders.entry(folder).or_insert_with(|| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
        if !known.insert(canonical.join(target.file_name().unwrap_or_default())) {
            return Err(OutputError::new(target, OutputErrorKind::IsOtherOutput));
        }
    }
    Ok(())
}

/// Returns an error if an output exists already and is the same file as an input.
fn check_no_input<P: AsRef<Path>>(
    targets: &[PathBuf],
    inputs: impl IntoIterator<Item = P>,
) -> Result<(), OutputError> {
    let mut inputs = Some(inputs);
    let mut known = BTreeSet::new();
    for target in targets {
        let Ok(existing) = target.canonicalize() else { continue };
        // The paths of the inputs are resolved only if an output exists already, because resolving many paths takes
        // time.
        known.extend(inputs.take().into_iter().flatten().filter_map(|input| input.as_ref().canonicalize().ok()));
        if known.contains(&existing) {
            return Err(OutputError::new(target, OutputErrorKind::IsInput));
        }
    }
    Ok(())
}

/// Returns the folder of `target` if a file with this name may be written there, else an error.
pub(super) fn check_target(target: &Path) -> Result<&Path, OutputError> {
    let folder = folder_of(target);
    if !folder.is_dir() {
        return Err(OutputError::new(folder, OutputErrorKind::NoFolder));
    }
    let refuse = |kind| Err(OutputError::new(target, kind));
    // An output replaces any existing file of its name when it is renamed, even /dev/null. So the kind of the
    // existing file is checked.
    match std::fs::metadata(target) {
        _ if target.file_name().is_none() => refuse(OutputErrorKind::IsFolder),
        Ok(found) if found.is_dir() => refuse(OutputErrorKind::IsFolder),
        Ok(found) if !found.is_file() || is_stream(target) => refuse(OutputErrorKind::IsDevice),
        Ok(found) if found.permissions().readonly() => refuse(OutputErrorKind::WriteProtected),
        Ok(_) => in_use(target).map_or(Ok(folder), |what| refuse(OutputErrorKind::InUse(what))),
        Err(source) if source.kind() != ErrorKind::NotFound => refuse(OutputErrorKind::Write(source)),
        Err(_) => Ok(folder),
    }
}

/// The folder of a file: `.` for a name without a folder.
fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the error for a folder in which no temporary file could be created.
pub(super) fn folder_error(folder: &Path, source: std::io::Error) -> OutputError {
    OutputError::new(folder, OutputErrorKind::ClosedFolder(source))
}

/// What the process uses this file for, such as "the log"; `None` if the process is not writing to the file.
fn in_use(target: &Path) -> Option<&'static str> {
    let protected = PROTECTED.lock().unwrap_or_else(PoisonError::into_inner);
    if protected.is_empty() {
        return None;
    }
    let target = target.canonicalize().ok()?;
    protected.iter().find(|(path, _)| *path == target).map(|(_, what)| *what)
}

/// Whether a path is that of a file which the process has already opened, such as /dev/stdout.
fn is_stream(target: &Path) -> bool {
    std::fs::read_link(target).is_ok_and(|link| link.starts_with("/proc"))
}
