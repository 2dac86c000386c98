//! The labels of the template: the most frequent label, and the share of subjects with each label.

use std::path::PathBuf;

use antsreg_cohort::template::Votes;
use antsreg_core::LabelVolume;
use antsreg_core::io::{nifti, outputs};
use rayon::prelude::*;

use super::session::Session;
use crate::Error;

/// Writes the template's labels and a probability map for each label; returns the files.
///
/// # Errors
/// Label maps on different grids; a file that cannot be written.
pub fn write(session: &Session, maps: Vec<LabelVolume>) -> Result<Vec<PathBuf>, Error> {
    let votes = Votes::new(maps)?;
    let Some(majority) = votes.majority() else { return Ok(Vec::new()) };
    let (folder, extension) = (session.layout.probabilities(), session.extension());
    outputs::make_folder(&folder)?;
    let labels = session.layout.result_labels(extension);
    nifti::write_labels(&labels, &majority)?;
    let of_label = |label: &i32| -> Result<Option<PathBuf>, Error> {
        let Some(probability) = votes.probability(*label) else { return Ok(None) };
        let path = folder.join(format!("{label}.{extension}"));
        nifti::write_volume(&path, &probability)?;
        Ok(Some(path))
    };
    let maps = votes.labels().par_iter().map(of_label).collect::<Result<Vec<_>, Error>>()?;
    Ok([labels].into_iter().chain(maps.into_iter().flatten()).collect())
}
