//! Compares files of a template with their records: lengths and digests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::digest::FileRecord;
use super::error::{Differences, Error as TemplateError};

/// Checks that the input files of a template have not changed since its plan was made.
///
/// # Errors
/// [`TemplateError::Unlike`].
pub fn check_inputs(files: &[FileRecord]) -> Result<(), TemplateError> {
    let mut found = Found::default();
    files.iter().for_each(|file| found.compare(file.path.clone(), file));
    found.end().map(drop)
}

/// The files of a template that have been compared, and what is wrong with them.
#[derive(Default)]
pub struct Found {
    /// Number of files with a recorded digest.
    pub all: usize,
    /// The files that belong to the template.
    pub known: BTreeSet<PathBuf>,
    /// The records of the files, by their paths as manifests write them.
    pub records: BTreeMap<PathBuf, FileRecord>,
    /// What is wrong with the files.
    pub differences: Differences,
}

impl Found {
    /// Returns the number of compared files.
    ///
    /// # Errors
    /// [`TemplateError::Unlike`].
    pub fn end(self) -> Result<usize, TemplateError> {
        match self.differences.is_empty() {
            true => Ok(self.all),
            false => Err(TemplateError::Unlike(Box::new(self.differences))),
        }
    }

    /// Compares the file at `place` with its record.
    pub fn compare(&mut self, place: PathBuf, record: &FileRecord) {
        self.all += 1;
        match FileRecord::of(&place, record.path.clone()) {
            Ok(now) if now == *record => {}
            _ if place.exists() => self.differences.changed.push(place.clone()),
            _ => self.differences.missing.push(place.clone()),
        }
        self.records.insert(record.path.clone(), record.clone());
        self.known.insert(place);
    }
}
