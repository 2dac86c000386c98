//! What can go wrong with the files of a template.

use std::path::PathBuf;

use antsreg_core::io::outputs::OutputError;

/// A file of a template that cannot be read or written, or is not there yet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step whose input is not there.
    #[error("{}: not there yet, or made of something else; first run `{first}`", missing.display())]
    NotYet {
        /// The manifest that is missing.
        missing: PathBuf,
        /// The command that makes it.
        first: String,
    },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// JSON that cannot be understood, or figures that cannot be written as JSON.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}
