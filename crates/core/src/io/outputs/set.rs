//! Sets of output files that get their final names together, after all files are complete.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::check::{check_target, folder_error};
use super::error::{NamesPath, OutputError, OutputErrorKind};
use super::temporary::{Temporary, give_names};

/// A function that writes a file at the given path.
pub type Writing<'a, E> = Box<dyn FnOnce(&Path) -> Result<(), E> + Send + 'a>;

/// Output files that belong together: those of one command, or of one subject.
///
/// Each file is written into a hidden folder beside its final place. [`Outputs::commit`] moves all files to their
/// places. If the
/// set is dropped before that, all files are removed. Several sets may be written at the same time.
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

    /// The final paths of the outputs written so far, with their sizes in bytes.
    ///
    /// # Errors
    /// The system cannot report a size.
    pub fn written(&self) -> Result<Vec<(PathBuf, u64)>, OutputError> {
        let size = |(path, target): &(PathBuf, PathBuf)| {
            let wrap = |source| OutputError::new(target, OutputErrorKind::Write(source));
            Ok((target.clone(), std::fs::metadata(path).map_err(wrap)?.len()))
        };
        self.files.iter().map(size).collect()
    }

    /// Gives every file its final name, replacing existing files. Returns the paths in the order of writing.
    ///
    /// # Errors
    /// The system cannot rename a file.
    pub fn commit(self) -> Result<Vec<PathBuf>, OutputError> {
        give_names(self.files.iter().map(|(path, target)| (path.as_path(), target.as_path())))?;
        Ok(self.files.iter().map(|(_, target)| target.clone()).collect())
    }
}
