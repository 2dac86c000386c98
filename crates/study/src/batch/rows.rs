//! The subjects of a batch, and their rows in the summary table.

use crate::pair::{Names, PairFiles, Record};

/// A subject of a batch with its files.
#[derive(Debug, Clone)]
pub struct Job {
    /// The subject's name.
    pub name: String,
    /// The input files of the subject's registration.
    pub files: PairFiles,
    /// The names of the subject's output files.
    pub names: Names,
}

/// Outcome of a subject's registration in a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// The subject was registered, and its files were written.
    Done,
    /// The subject's files existed already, complete and up to date.
    Skipped,
    /// The subject failed; the text is the reason.
    Failed(String),
}

/// Row of a subject in the summary table of a batch.
#[derive(Debug)]
pub struct Row {
    /// The subject's name.
    pub subject: String,
    /// Outcome of the subject's registration.
    pub status: Status,
    /// The record (inputs, options, results) of the registration; `None` if the registration failed.
    pub record: Option<Record>,
    /// The names of the subject's output files.
    pub names: Names,
}
