//! Files appear under their final name only when they are whole.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::target::{Heard, Target};
use super::{Error, ErrorKind};

/// Temporary files that are being written.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of writes in progress: for a program that is about to end because it was interrupted.
pub fn remove_unfinished() {
    for path in std::mem::take(&mut *unfinished()) {
        // Nobody is left to be told of a failure.
        let _ = std::fs::remove_file(path);
    }
}

/// Writes `path` through a temporary file in the same folder, renamed once everything is on it; after a failure nothing
/// is left behind.
pub(super) fn replace<'a>(
    to: impl Into<Target<'a>>,
    write: impl FnOnce(&mut Heard) -> std::io::Result<()>,
) -> Result<(), Error> {
    let Target { path, listener } = to.into();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Renaming would put a file in the place of a device.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Error::new(path, ErrorKind::NotAFile("a pipe or a device")));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".part");
    // The default is for secrets: readable by the owner alone. The user's mask applies to this one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let wrap = |error: std::io::Error| Error::new(path, error);
    let mut file = builder.tempfile_in(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(path, ErrorKind::MissingFolder),
        _ => wrap(error),
    })?;
    let temporary = file.path().to_owned();
    unfinished().insert(temporary.clone());
    let result = write(&mut Heard { file: file.as_file_mut(), listener })
        .and_then(|()| file.flush())
        // On failure the file is removed with the error that holds it.
        .and_then(|()| file.persist(path).map(drop).map_err(|error| error.error));
    unfinished().remove(&temporary);
    result.map_err(wrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "old").unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let result = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            assert_eq!(names(), 2);
            remove_unfinished();
            assert_eq!(names(), 1);
            Err(std::io::ErrorKind::Interrupted.into())
        });
        assert!(result.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        let mut heard = Vec::new();
        let mut listen = |bytes: Vec<u8>| {
            heard.extend_from_slice(&bytes);
            bytes
        };
        replace(Target::heard(&path, &mut listen), |file| {
            file.write_all(b"n")?;
            assert_eq!(file.pass(b"e".to_vec())?.len(), 1, "a buffer to go on with");
            file.write_all(b"w")
        })
        .unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(heard, b"new");
        assert_eq!(names(), 1);
    }
}
