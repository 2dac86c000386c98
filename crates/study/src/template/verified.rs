//! Checks whether the files of a manifest are unchanged.
//!
//! A manifest contains the digest of each file. Reading all files whenever a step looks for its inputs would take
//! longer than the steps. So the identity of each file (size, time of change, inode) is stored beside the manifest.
//! Only a file with another identity is read, and its digest compared.

use std::path::Path;

use antsreg_core::io::outputs;

use super::digest::FileRecord;
use super::layout::Layout;
use crate::{Error, FileIdentity};

/// Whether all files that a manifest records exist and have the recorded digests.
///
/// # Errors
/// An existing file that cannot be read.
pub fn are_unchanged(layout: &Layout, manifest: &Path, records: &[FileRecord]) -> Result<bool, Error> {
    let known = read(&layout.identities(manifest));
    let mut compared = false;
    for record in records {
        let path = layout.root().join(&record.path);
        let Some(now) = FileIdentity::of(&path).filter(|now| now.bytes == record.bytes) else { return Ok(false) };
        if known.contains(&now) {
            continue;
        }
        if FileRecord::of(&path, record.path.clone())? != *record {
            return Ok(false);
        }
        compared = true;
    }
    if compared {
        remember(layout, manifest, records);
    }
    Ok(true)
}

/// Stores the identities (size, time, inode) of files that are known to have the digests in the manifest.
pub fn remember(layout: &Layout, manifest: &Path, records: &[FileRecord]) {
    let paths: Vec<_> = records.iter().map(|record| layout.root().join(&record.path)).collect();
    let place = layout.identities(manifest);
    // If the identities (size, time, inode) of the files cannot be stored, the error is ignored: the next check then
    // compares the digests of the files.
    if let (Some(folder), Ok(text)) =
        (place.parent(), serde_json::to_vec(&FileIdentity::of_all(paths.iter().map(|path| path.as_path()))))
        && outputs::make_folder(folder).is_ok()
    {
        let _ = outputs::write_file(&place, &text);
    }
}

fn read(path: &Path) -> Vec<FileIdentity> {
    let text = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
