//! What goes into the files of a step.

use std::path::Path;

use antsreg_core::io::{itk, nifti};
use antsreg_core::{DisplacementField, LabelVolume, Volume};
use rayon::prelude::*;

use super::digest::FileRecord;
use super::layout::Layout;
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
    /// Writes it, unless it stands.
    fn write(&self, path: &Path) -> Result<(), CliError> {
        match self {
            Content::Image(image) => nifti::write_volume(path, image)?,
            Content::Warp(warp) => itk::write_warp(path, warp)?,
            Content::Labels(labels) => nifti::write_labels(path, labels)?,
            Content::Written => {}
        }
        Ok(())
    }
}

/// Writes files, all at once.
pub fn write_all(layout: &Layout, files: &[(&Path, Content)]) -> Result<Vec<FileRecord>, CliError> {
    let write = |(path, content): &(&Path, Content)| {
        content.write(path)?;
        FileRecord::of(path, layout.relative(path))
    };
    files.par_iter().map(write).collect()
}
