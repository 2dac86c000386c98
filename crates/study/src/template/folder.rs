//! Checks and locks the folder of a template, and removes unfinished files of an earlier run.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::Error;
use super::layout::Layout;

/// Checks that the folder of a template contains no files that belong to something else, and that no inputs lie in it.
///
/// # Errors
/// [`Error::Foreign`] and [`Error::InputAmongOutputs`].
pub fn check<'a>(folder: &Path, inputs: impl Iterator<Item = &'a Path>) -> Result<(), Error> {
    // A folder for the template that does not exist is accepted like an empty folder.
    let Ok(canonical) = folder.canonicalize() else { return Ok(()) };
    for input in inputs {
        if input.canonicalize().is_ok_and(|path| path.starts_with(&canonical)) {
            return Err(Error::InputAmongOutputs { input: input.into(), folder: folder.into() });
        }
    }
    if Layout::plan(folder).exists() {
        return Ok(());
    }
    match first_file(folder) {
        Some(found) => Err(Error::Foreign { folder: folder.into(), found }),
        None => Ok(()),
    }
}

/// Finds any file in a folder or in the folders below. Hidden files are ignored, because a killed run leaves a lock and
/// unfinished files. Empty folders are ignored, because workflow engines create them for the outputs of a job.
fn first_file(folder: &Path) -> Option<PathBuf> {
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    entries(folder).filter(|path| !is_hidden(path)).find_map(|path| match path.is_dir() {
        true => first_file(&path),
        false => Some(path),
    })
}

/// Locks the folder of a template, so that no other process builds the same template. The lock ends when the returned
/// lock file is closed or the process ends.
///
/// # Errors
/// [`Error::Busy`]; a lock file that cannot be created.
pub fn lock(folder: &Path) -> Result<File, Error> {
    let path = Layout::lock(folder);
    let file = File::create(&path).map_err(|source| Error::Lock { path, source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Busy { folder: folder.into() }),
        // If the file system has no locks, other processes that use the folder cannot be detected.
        Err(std::fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Removes the unfinished files of a run that was killed. The caller must hold the lock of the folder, so that no other
/// process is writing these files.
pub fn remove_unfinished(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in entries(&next) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if name.starts_with('.') && name.ends_with(".part") {
                // An unfinished file that cannot be removed does no harm, so the error is ignored.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The entries of a folder; no entries if the folder cannot be read.
pub fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_other_things_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let check = |name: &str| check(&at(name), std::iter::empty());
        assert!(check("new").is_ok());
        std::fs::create_dir_all(at("used/start")).expect("a folder");
        std::fs::write(at("used/.lock"), "").expect("a file");
        assert!(check("used").is_ok(), "no more than a lock and an empty folder");
        std::fs::write(at("used/report.html"), "mine").expect("a file");
        let message = check("used").expect_err("refused").to_string();
        assert!(message.contains("expected a new or empty folder") && message.contains("report.html"), "{message}");
        std::fs::write(at("used/atlas.json"), "").expect("a file");
        assert!(check("used").is_ok());
    }

    #[test]
    fn inputs_among_the_outputs_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("out/subjects")).expect("a folder");
        let (outside, inside) = (at("u_Warped.nii.gz"), at("out/subjects/u_Warped.nii.gz"));
        for path in [&outside, &inside, &at("out/atlas.json")] {
            std::fs::write(path, "").expect("a file");
        }
        assert!(check(&at("out"), [outside.as_path()].into_iter()).is_ok());
        let inputs = [outside.as_path(), inside.as_path()];
        assert!(
            matches!(check(&at("out"), inputs.into_iter()), Err(Error::InputAmongOutputs { input, .. }) if input == inside)
        );
    }

    #[test]
    fn unfinished_files_are_removed_wherever_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let [unfinished, whole] = [".x.part", "x.part"].map(|name| folder.path().join("pass_1/subjects").join(name));
        std::fs::create_dir_all(folder.path().join("pass_1/subjects")).expect("a folder");
        for path in [&unfinished, &whole] {
            std::fs::write(path, "").expect("a file");
        }
        remove_unfinished(folder.path());
        assert!(!unfinished.exists() && whole.exists());
    }
}
