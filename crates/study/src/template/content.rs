//! Writes the files of a step in parallel.

use std::path::{Path, PathBuf};

use antsreg_core::io::{Target, itk, nifti};
use antsreg_core::{DisplacementField, LabelVolume, Volume};
use rayon::prelude::*;

use super::digest::{self, FileRecord};
use super::layout::Layout;
use crate::Error;

/// The content of an output file of a step.
pub enum Content<'a> {
    /// An image.
    Image(&'a Volume),
    /// A displacement field.
    Warp(&'a DisplacementField),
    /// A label map.
    Labels(&'a LabelVolume),
    /// The file has been written already: only its record is made.
    Written,
}

impl Content<'_> {
    /// Writes the file, unless it has its content already ([`Content::Written`]). Returns the file's record.
    fn write(&self, path: &Path, name: PathBuf) -> Result<FileRecord, Error> {
        if let Content::Written = self {
            return FileRecord::of(path, name);
        }
        // The digest is computed while the file is written, so that the file need not be read again.
        digest::while_written(name, |listener| {
            let target = Target::heard(path, listener);
            match self {
                Content::Image(image) => nifti::write_volume(target, image)?,
                Content::Warp(warp) => itk::write_warp(target, warp)?,
                Content::Labels(labels) => nifti::write_labels(target, labels)?,
                Content::Written => {}
            }
            Ok(())
        })
    }
}

/// Writes files in parallel; returns their records.
///
/// # Errors
/// A file that cannot be written.
pub fn write_all(layout: &Layout, files: &[(&Path, Content)]) -> Result<Vec<FileRecord>, Error> {
    let write = |(path, content): &(&Path, Content)| content.write(path, layout.relative(path));
    if files.iter().any(|(path, _)| path.extension().is_some_and(|extension| extension == "gz")) {
        // All threads of the pool work together on the compression of each file, so no further threads are needed.
        return files.par_iter().map(write).collect();
    }
    // The files are written on separate threads, not on the thread pool. While a thread of the pool waits for other
    // files, it could begin another step. Then the first step could not be completed before the end of the other
    // step.
    std::thread::scope(|scope| {
        let writing: Vec<_> =
            files.iter().map(|file| digest::spawn(scope, "writing files", || write(file))).collect();
        let joined = writing.into_iter().map(|file| file.map(|file| file.join()));
        joined.map(|file| file?.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
