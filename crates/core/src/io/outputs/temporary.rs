//! Temporary files and folders, registered for the whole process so that an interrupted program can remove them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::{OutputError, OutputErrorKind};
use crate::failpoint::{self, Operation};

/// Number of attempts to remove a folder. An attempt can fail because a thread that is still writing adds a file to
/// the folder.
const TRIES: usize = 20;

/// Registry of the temporary files of this process. It is global, because a signal handler must find it.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { unfinished: BTreeSet::new(), named: false });

#[derive(Debug)]
struct Registry {
    /// Paths of the temporary files and folders that exist.
    unfinished: BTreeSet<PathBuf>,
    /// Whether this process has renamed any output file from its temporary to its final name.
    named: bool,
}

/// Locks the registry, also after a panic in another thread: the registry is valid after every single operation.
fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder. It is removed on drop, unless it has been renamed.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates an empty temporary file in `folder`.
    pub fn file_in(folder: &Path) -> std::io::Result<(File, Temporary)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".part");
        // By default only the owner may read a temporary file. The file gets the permissions of an ordinary new file
        // instead, which the user's umask limits.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        failpoint::check(Operation::Create)?;
        let mut registry = registry();
        let (file, path) = builder.tempfile_in(folder)?.keep().map_err(|error| error.error)?;
        registry.unfinished.insert(path.clone());
        Ok((file, Temporary { path }))
    }

    /// Creates an empty temporary folder in `folder`.
    pub fn folder_in(folder: &Path) -> std::io::Result<Temporary> {
        failpoint::check(Operation::Create)?;
        let mut registry = registry();
        let path = tempfile::Builder::new().prefix(".antsreg-partial-").tempdir_in(folder)?.keep();
        registry.unfinished.insert(path.clone());
        Ok(Temporary { path })
    }

    /// Path of the temporary file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        registry().remove(&self.path);
    }
}

impl Registry {
    /// Removes a temporary file or folder. If it cannot be removed, it stays registered.
    fn remove(&mut self, path: &Path) -> bool {
        let mut tries = (0..TRIES).map(|n| {
            if n > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_removed(path)
        });
        let removed = tries.any(|removed| removed);
        if removed {
            self.unfinished.remove(path);
        }
        removed
    }
}

/// Tries to remove a file or folder. Returns whether the path no longer exists.
fn is_removed(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        // `remove_dir` is tried first: it removes empty folders and needs no file descriptor, so it works even if the
        // process may open no more files. `remove_dir_all` also removes folders with contents, but needs a descriptor.
        Ok(found) if found.is_dir() => std::fs::remove_dir(path).or_else(|_| std::fs::remove_dir_all(path)).is_ok(),
        Ok(_) => std::fs::remove_file(path).is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Renames temporary files to their final names and replaces existing files. The registry of temporary files stays
/// locked, so that an interruption comes before or after all renames. If a rename fails, the earlier renames are
/// undone.
pub fn give_names<'a>(files: impl IntoIterator<Item = (&'a Path, &'a Path)>) -> Result<(), OutputError> {
    let mut registry = registry();
    let mut named: Vec<Named> = Vec::new();
    let mut files = files.into_iter().peekable();
    while let Some((temporary, target)) = files.next() {
        // An existing file of a target's name is kept until all files are renamed, so that an error can be undone. For
        // the last file of the list this is not needed: no later rename can fail.
        let before = if files.peek().is_some() { keep(temporary, target) } else { Before::Lost };
        let renamed = failpoint::check(Operation::Rename).and_then(|()| std::fs::rename(temporary, target));
        if let Err(source) = renamed {
            named.into_iter().rev().for_each(Named::undo);
            return Err(OutputError::new(target, OutputErrorKind::Write(source)));
        }
        named.push(Named { target, before });
        // In a set of outputs, a file is first renamed within its temporary folder. It counts as an output only when
        // it is renamed to a path outside of all temporary folders.
        let is_inside = registry.unfinished.iter().any(|folder| target.starts_with(folder));
        registry.named |= !is_inside;
    }
    Ok(())
}

/// An output that has been given its final name, and the earlier file of that name.
struct Named<'a> {
    target: &'a Path,
    before: Before,
}

enum Before {
    /// No file with the name of the output existed before.
    Nothing,
    /// A file with the name of the output existed before. That file is kept under this second name until all outputs
    /// have their final names, so that an error can be undone.
    File(PathBuf),
    /// The output replaced a file of its name that cannot be restored: the file system has no hard links to keep that
    /// file, or this output was the last to be renamed, so that no later rename can fail.
    Lost,
}

/// Gives the existing file `target` a second name in the folder of the temporary file. The second name is removed
/// with that folder.
fn keep(temporary: &Path, target: &Path) -> Before {
    let mut kept = temporary.as_os_str().to_owned();
    kept.push(".before");
    match std::fs::hard_link(target, &kept) {
        Ok(()) => Before::File(kept.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Before::Nothing,
        Err(_) => Before::Lost,
    }
}

impl Named<'_> {
    /// Restores the earlier file that had the name of the output. Errors of the system are ignored here, because the
    /// error that led to the undo is reported.
    fn undo(self) {
        let _ = match self.before {
            Before::Nothing => std::fs::remove_file(self.target),
            Before::File(kept) => std::fs::rename(kept, self.target),
            Before::Lost => Ok(()),
        };
    }
}

/// While this guard exists, this process does not rename any output file from its temporary to its final name.
#[derive(Debug)]
pub struct CommitsStopped(MutexGuard<'static, Registry>);

/// Waits for renames in progress and prevents all later ones. A program calls this function when it is about to end
/// because of an interruption, and keeps the returned guard until the process ends.
pub fn stop_commits() -> CommitsStopped {
    CommitsStopped(registry())
}

impl CommitsStopped {
    /// Whether this process has renamed any output file from its temporary to its final name.
    pub fn any_output_written(&self) -> bool {
        self.0.named
    }

    /// Removes all temporary files and folders of this process; returns those that could not be removed.
    pub fn remove_unfinished(&mut self) -> Vec<PathBuf> {
        let paths = self.0.unfinished.clone();
        paths.into_iter().filter(|path| !self.0.remove(path)).collect()
    }
}

/// Removes all temporary files and folders of this process; returns those that could not be removed.
pub fn remove_unfinished() -> Vec<PathBuf> {
    stop_commits().remove_unfinished()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_attempts_to_remove_a_file_leave_time_to_its_writer() {
        // No process may remove this file.
        let path = Path::new("/proc/version");
        let mut registry = Registry { unfinished: BTreeSet::from([path.to_owned()]), named: false };
        let start = Instant::now();
        assert!(!registry.remove(path));
        assert!(start.elapsed() >= Duration::from_millis(100), "{:?}", start.elapsed());
        assert!(registry.unfinished.contains(path), "it stays registered");
    }
}
