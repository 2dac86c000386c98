//! Errors of output files that cannot be written.

use std::path::{Path, PathBuf};

/// An output that cannot be written, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct OutputError {
    /// Path of the output file, or of its folder if the folder is the problem.
    pub path: PathBuf,
    /// The problem.
    pub kind: OutputErrorKind,
}

/// The reason why the output cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputErrorKind {
    /// The folder of the output does not exist.
    #[error("no such folder; make it first, or give another output name")]
    NoFolder,
    /// No file can be created in the folder of the output.
    #[error("no file can be made in this folder: {0}; give another output name")]
    ClosedFolder(#[source] std::io::Error),
    /// The path is that of a file, but a folder is needed there.
    #[error("the path leads to a file, expected a folder or a name for a new folder; give another output name")]
    NotAFolder,
    /// The path of the output file is that of an existing folder.
    #[error("the path leads to a folder, expected the name of a file to write")]
    IsFolder,
    /// The path is that of a pipe or a device. Renaming the finished output would replace the device by a file.
    #[error("the path leads to a pipe or a device, expected the name of a file to write")]
    IsDevice,
    /// The existing file is read-only. Renaming the finished output would replace the file nevertheless.
    #[error("the file is write-protected; give another output name, or allow writing (chmod u+w)")]
    WriteProtected,
    /// The file is in use by this program; see [`super::protect`].
    #[error("{0} and an output have this same name; give another name for one of them")]
    InUse(&'static str),
    /// The output would replace an input of the command.
    #[error("this file is both an input and an output; give another output name")]
    IsInput,
    /// Two outputs have the same name.
    #[error("two outputs have this same name; give another name for one of them")]
    IsOtherOutput,
    /// The system could not write or rename the file.
    #[error("the file could not be written: {0}")]
    Write(#[source] std::io::Error),
}

impl OutputError {
    pub(super) fn new(path: &Path, kind: OutputErrorKind) -> OutputError {
        OutputError { path: path.to_owned(), kind }
    }
}

/// An error that names the path of a file. An output is first written to a temporary file, so its error names that
/// file; `about` puts the path of the output in its place.
pub trait NamesPath {
    /// Returns this error with the path of the output in place of the path of its temporary file.
    #[must_use]
    fn about(self, path: &Path) -> Self;
}

impl NamesPath for OutputError {
    fn about(self, path: &Path) -> OutputError {
        OutputError { path: path.to_owned(), ..self }
    }
}
