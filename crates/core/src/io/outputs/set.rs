//! Sets of output files that get their final names together, after all files are complete.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

use rayon::prelude::*;

use super::super::{Target, companion};
use super::check::{check_target, folder_error};
use super::error::{NamesPath, OutputError, OutputErrorKind};
use super::space::Reserved;
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
    /// Each folder that gets outputs, with the hidden temporary folder created in it.
    folders: Vec<(PathBuf, Temporary)>,
    /// Temporary path and final path of each file of the set.
    files: Vec<(PathBuf, PathBuf)>,
    /// Threads of which each writes a file in the background.
    background: Vec<JoinHandle<Result<(), OutputError>>>,
    /// Threads of which each reserves space for a file, with the final path of the file.
    reserved: Vec<(PathBuf, JoinHandle<std::io::Result<Reserved>>)>,
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

    /// Reserves space for an output of about `bytes` bytes, on a thread of its own, while its contents are computed.
    /// [`Outputs::write_in_background`] uses this space.
    ///
    /// # Errors
    /// If `target` cannot be the name of an output, or no thread can be started.
    pub fn reserve(&mut self, target: &Path, bytes: u64) -> Result<(), OutputError> {
        let folder = self.hidden_folder(target)?;
        let thread = spawn(target, move || Reserved::in_folder(&folder, bytes))?;
        self.reserved.push((target.to_owned(), thread));
        Ok(())
    }

    /// Writes an output as [`Outputs::write`] does, on a thread of its own. [`Outputs::wait`] waits for this thread.
    ///
    /// # Errors
    /// If `target` cannot be the name of an output, or no thread can be started.
    pub fn write_in_background<E: Into<OutputError> + NamesPath>(
        &mut self,
        target: &Path,
        write: impl FnOnce(Target) -> Result<(), E> + Send + 'static,
    ) -> Result<(), OutputError> {
        let (path, about) = (self.begin(target)?, target.to_owned());
        let at = self.reserved.iter().position(|(of, _)| of == target);
        let space = at.map(|at| self.reserved.swap_remove(at).1);
        let work = move || {
            // A file that could not be made ahead is made now, or now gives the error.
            let space = space.and_then(|thread| thread.join().ok()?.ok());
            write(Target::with_space(&path, space)).map_err(|error| error.about(&about).into())
        };
        self.background.push(spawn(target, work)?);
        Ok(())
    }

    /// Waits for the files that are written in the background.
    ///
    /// # Errors
    /// A file that cannot be written. If several files fail, the error of the first file is returned.
    pub fn wait(&mut self) -> Result<(), OutputError> {
        let joined =
            self.background.drain(..).map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<Vec<_>>().into_iter().collect()
    }

    /// Whether `target` is an output of this set, complete or not.
    pub fn contains(&self, target: &Path) -> bool {
        self.files.iter().any(|(_, known)| known == target)
    }

    /// Makes the temporary path at which the output `target` is written.
    fn begin(&mut self, target: &Path) -> Result<PathBuf, OutputError> {
        let path = self.hidden_folder(target)?.join(target.file_name().unwrap_or_default());
        // The voxels come first: a header without its voxels is not an image.
        if let (Some(voxels), Some(place)) = (companion(&path), companion(target)) {
            self.files.push((voxels, place));
        }
        self.files.push((path.clone(), target.to_owned()));
        Ok(path)
    }

    /// The hidden folder beside the output `target`.
    fn hidden_folder(&mut self, target: &Path) -> Result<PathBuf, OutputError> {
        let folder = check_target(target)?;
        if let Some((_, hidden)) = self.folders.iter().find(|(known, _)| known == folder) {
            return Ok(hidden.path().to_owned());
        }
        let hidden = Temporary::folder_in(folder).map_err(|source| folder_error(folder, source))?;
        let path = hidden.path().to_owned();
        self.folders.push((folder.to_owned(), hidden));
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

/// Starts a thread that works for the output `target`.
fn spawn<T: Send + 'static>(
    target: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, OutputError> {
    Builder::new().spawn(work).map_err(|source| OutputError::new(target, OutputErrorKind::Write(source)))
}

/// Waits for the threads, so that none of them writes into a folder that is removed. Errors are of no use then: the set
/// of files was given up.
impl Drop for Outputs {
    fn drop(&mut self) {
        self.background.drain(..).for_each(|thread| drop(thread.join()));
        self.reserved.drain(..).for_each(|(_, thread)| drop(thread.join()));
    }
}
