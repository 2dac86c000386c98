//! What goes into the files of a step.

use std::path::{Path, PathBuf};
use std::thread::Builder;

use antsreg_core::io::{Target, itk, nifti};
use antsreg_core::{DisplacementField, LabelVolume, Volume};
use antsreg_study::template::{FileRecord, Layout, while_written};
use rayon::prelude::*;

use crate::error::CliError;

/// What goes into a file.
pub enum Content<'a> {
    /// An image.
    Image(&'a Volume),
    /// A displacement field.
    Warp(&'a DisplacementField),
    /// A label map.
    Labels(&'a LabelVolume),
    /// The file stands already.
    Written,
}

impl Content<'_> {
    /// Writes it, unless it stands, and records the file.
    fn write(&self, path: &Path, name: PathBuf) -> Result<FileRecord, CliError> {
        if let Content::Written = self {
            return Ok(FileRecord::of(path, name)?);
        }
        // While it is written: that saves reading it again.
        while_written(name, |listener| {
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

/// Writes files, all at once.
pub fn write_all(layout: &Layout, files: &[(&Path, Content)]) -> Result<Vec<FileRecord>, CliError> {
    let write = |(path, content): &(&Path, Content)| content.write(path, layout.relative(path));
    if files.iter().any(|(path, _)| path.extension().is_some_and(|extension| extension == "gz")) {
        // Each is compressed by all threads of this pool.
        return files.par_iter().map(write).collect();
    }
    // Threads of their own: one of a pool's that waits for the others' files takes up another step meanwhile, and this one
    // is not recorded before that is done.
    std::thread::scope(|scope| {
        let spawn = |file| Builder::new().name("writing a file".into()).spawn_scoped(scope, move || write(file));
        let writing: Vec<_> = files.iter().map(|file| spawn(file).map_err(|_| file)).collect();
        let written = writing.into_iter().map(|writing| match writing {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No thread could be started for it.
            Err(file) => write(file),
        });
        written.collect()
    })
}
