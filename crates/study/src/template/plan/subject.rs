//! A subject in the plan of a template (the file of subjects and options): its files with their digests, read and
//! checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Channels;
use crate::subjects::Subject;
use crate::template::digest::FileRecord;
use crate::{Error, inputs};

/// A subject as the plan of a template lists it: name, files with their digests, and the reason if it is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSubject {
    /// Name of the subject.
    pub name: String,
    /// Records (path, length, SHA-256 digest) of the subject's image files, one file for each channel.
    pub images: Vec<FileRecord>,
    /// Record (path, length, SHA-256 digest) of the subject's label map.
    pub labels: Option<FileRecord>,
    /// Whether the extracted brain is registered instead of the subject's whole head.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brain: bool,
    /// The reason if the subject is left out, else `None`.
    pub left_out: Option<String>,
}

impl PlannedSubject {
    /// Name of the subject and the reason, if the subject is left out.
    pub fn complaint(&self) -> Option<String> {
        self.left_out.as_ref().map(|reason| format!("{} ({reason})", self.name))
    }

    /// Reads a subject for the plan of a template; removes the shading of its images if `corrected` is true. A subject
    /// that cannot be read is left out of the template.
    pub(super) fn read(subject: Subject, corrected: bool) -> (PlannedSubject, Option<Channels>) {
        let Subject { name, images, labels, .. } = subject;
        match read(&images, labels.as_deref(), corrected) {
            Ok((images, labels, volumes)) => {
                (PlannedSubject { name, images, labels, brain: false, left_out: None }, Some(volumes))
            }
            Err(error) => {
                let unread = |path: PathBuf| FileRecord { path, bytes: 0, sha256: String::new() };
                let (images, labels) = (images.into_iter().map(unread).collect(), labels.map(unread));
                (PlannedSubject { name, images, labels, brain: false, left_out: Some(error.to_string()) }, None)
            }
        }
    }
}

type Read = (Vec<FileRecord>, Option<FileRecord>, Channels);

fn read(images: &[PathBuf], labels: Option<&Path>, corrected: bool) -> Result<Read, Error> {
    let volumes = read_channels(images, corrected)?;
    if let Some(labels) = labels {
        inputs::labels_of(labels, &images[0], &volumes[0].grid)?;
    }
    Ok((records(images)?, labels.map(record).transpose()?, volumes))
}

/// Reads the channels of one subject or of a template; removes their shading if `corrected` is true. All channels
/// must lie on one grid.
///
/// # Errors
/// A file that cannot be read or lies on another grid.
pub fn read_channels(paths: &[PathBuf], corrected: bool) -> Result<Channels, Error> {
    let mut volumes: Channels = Vec::with_capacity(paths.len());
    for path in paths {
        let mut volume = inputs::prepared_image(path, corrected)?;
        if let Some(first) = volumes.first() {
            inputs::check_grid(path, &volume.grid, &paths[0], &first.grid, "linear")?;
            volume.grid = first.grid.clone();
        }
        volumes.push(Arc::new(volume));
    }
    Ok(volumes)
}

/// Makes the records of files: absolute path, length and digest.
pub(super) fn records(paths: &[PathBuf]) -> Result<Vec<FileRecord>, Error> {
    paths.iter().map(|path| record(path)).collect()
}

fn record(path: &Path) -> Result<FileRecord, Error> {
    let absolute = std::path::absolute(path).map_err(|source| Error::Read { path: path.into(), source })?;
    FileRecord::of(path, absolute)
}
