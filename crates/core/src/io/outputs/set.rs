//! Sets of output files that get their final names together, after all files are complete.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

use rayon::prelude::*;

use super::check::{check_target, folder_error};
use super::error::{NamesPath, OutputError, OutputErrorKind};
use super::temporary::{Temporary, give_names};

/// A function that writes a file at the given path.
pub type Writing<'a, E> = Box<dyn FnOnce(&Path) -> Result<(), E> + Send + 'a>;

/// Output files that belong together: those of one command, or of one subject.
///
/// Each file is written into a hidden folder beside its final place. [`Outputs::commit`] moves all files to their
/// places. If the set is dropped before that, all files are removed. Several sets may be written at the same time.
///
/// ```
/// use antsreg_core::io::{self, outputs::{Outputs, write_file}};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let mut outputs = Outputs::new();
/// outputs.write(&folder.join("a.txt"), |path| write_file(path, b"a"))?;
/// assert!(!folder.join("a.txt").exists());
/// outputs.commit()?;
/// assert!(folder.join("a.txt").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Outputs {
    /// Threads that write files in the background. They come first, so that they end before the folders are removed.
    background: Background,
    /// Each folder that gets outputs, with the hidden temporary folder created in it.
    folders: Vec<(PathBuf, Temporary)>,
    /// Temporary path and final path of each file of the set.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Outputs {
    /// Makes an empty set of outputs.
    pub fn new() -> Outputs {
        Outputs::default()
    }

    /// Calls `write` with a temporary name for the output `target`. The temporary file name is the same as the output's, in
    /// another folder, so that its extension chooses the format.
    ///
    /// # Errors
    /// If `target` cannot be the name of an output, or `write` fails; the error names `target`.
    pub fn write<E: From<OutputError> + NamesPath>(
        &mut self,
        target: &Path,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        write(&self.begin(target)?).map_err(|error| error.about(target))
    }

    /// Writes several outputs as [`Outputs::write`] does, in parallel on the threads of the current rayon pool.
    ///
    /// # Errors
    /// Those of [`Outputs::write`]. If several files fail, the error of the first file is returned.
    pub fn write_all<E: From<OutputError> + NamesPath + Send>(
        &mut self,
        files: Vec<(&Path, Writing<'_, E>)>,
    ) -> Result<(), E> {
        let begun = files.into_iter().map(|(target, write)| Ok((target, self.begin(target)?, write)));
        let begun = begun.collect::<Result<Vec<_>, E>>()?;
        let written =
            begun.into_par_iter().map(|(target, path, write)| write(&path).map_err(|error| error.about(target)));
        written.collect::<Vec<_>>().into_iter().collect()
    }

    /// Writes an output as [`Outputs::write`] does, on a thread of its own. [`Outputs::wait`] waits for this thread.
    ///
    /// # Errors
    /// If `target` cannot be the name of an output, or no thread can be started.
    pub fn write_in_background<E: Into<OutputError> + NamesPath>(
        &mut self,
        target: &Path,
        write: impl FnOnce(&Path) -> Result<(), E> + Send + 'static,
    ) -> Result<(), OutputError> {
        let (path, about) = (self.begin(target)?, target.to_owned());
        let thread = Builder::new().spawn(move || write(&path).map_err(|error| error.about(&about).into()));
        let wrap = |source| OutputError::new(target, OutputErrorKind::Write(source));
        self.background.0.push(thread.map_err(wrap)?);
        Ok(())
    }

    /// Waits for the files that are written in the background.
    ///
    /// # Errors
    /// A file that cannot be written. If several files fail, the error of the first file is returned.
    pub fn wait(&mut self) -> Result<(), OutputError> {
        self.background.join()
    }

    /// Whether `target` is an output of this set, complete or not.
    pub fn contains(&self, target: &Path) -> bool {
        self.files.iter().any(|(_, known)| known == target)
    }

    /// Makes the temporary path at which the output `target` is written.
    fn begin(&mut self, target: &Path) -> Result<PathBuf, OutputError> {
        let folder = check_target(target)?;
        let hidden = match self.folders.iter().find(|(known, _)| known == folder) {
            Some((_, hidden)) => hidden.path().to_owned(),
            None => {
                let hidden = Temporary::folder_in(folder).map_err(|source| folder_error(folder, source))?;
                let path = hidden.path().to_owned();
                self.folders.push((folder.to_owned(), hidden));
                path
            }
        };
        let path = hidden.join(target.file_name().unwrap_or_default());
        self.files.push((path.clone(), target.to_owned()));
        Ok(path)
    }

    /// The final paths of the outputs written so far, with their sizes in bytes. Waits for the files that are written in
    /// the background.
    ///
    /// # Errors
    /// A file that cannot be written in the background; the system cannot report a size.
    pub fn written(&mut self) -> Result<Vec<(PathBuf, u64)>, OutputError> {
        self.wait()?;
        let size = |(path, target): &(PathBuf, PathBuf)| {
            let wrap = |source| OutputError::new(target, OutputErrorKind::Write(source));
            Ok((target.clone(), std::fs::metadata(path).map_err(wrap)?.len()))
        };
        self.files.iter().map(size).collect()
    }

    /// Gives every file its final name, replacing existing files. Waits for the files that are written in the background.
    /// Returns the paths in the order of writing.
    ///
    /// # Errors
    /// A file that cannot be written in the background; the system cannot rename a file.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, OutputError> {
        self.wait()?;
        give_names(self.files.iter().map(|(path, target)| (path.as_path(), target.as_path())))?;
        Ok(self.files.iter().map(|(_, target)| target.clone()).collect())
    }
}

/// Threads of which each writes one file.
#[derive(Debug, Default)]
struct Background(Vec<JoinHandle<Result<(), OutputError>>>);

impl Background {
    /// Waits for all threads. Returns the error of the first that failed.
    fn join(&mut self) -> Result<(), OutputError> {
        let joined = self.0.drain(..).map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<Vec<_>>().into_iter().collect()
    }
}

/// Waits for the threads, so that none of them writes into a folder that is removed.
impl Drop for Background {
    fn drop(&mut self) {
        // An error of a file that nobody has waited for is of no use: the set of files was given up.
        self.0.drain(..).for_each(|thread| drop(thread.join()));
    }
}
