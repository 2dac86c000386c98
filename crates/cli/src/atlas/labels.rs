//! The labels of the template: what most subjects have, and how many have each.

use std::path::PathBuf;

use antsreg_cohort::template::Votes;
use antsreg_core::LabelVolume;
use antsreg_core::io::nifti;
use rayon::prelude::*;

use super::session::Session;
use super::start::make_folder;
use crate::error::CliError;

/// Writes the template's labels and a probability map for each; gives the names.
pub fn write(session: &Session, maps: Vec<LabelVolume>, extension: &str) -> Result<Vec<PathBuf>, CliError> {
    let votes = Votes::new(maps)?;
    let Some(majority) = votes.majority() else { return Ok(Vec::new()) };
    let folder = session.layout.probabilities();
    make_folder(&folder)?;
    let name = session.layout.labels(extension);
    nifti::write_labels(&name, &majority)?;
    let of_label = |label: &i32| -> Result<Option<PathBuf>, CliError> {
        let Some(probability) = votes.probability(*label) else { return Ok(None) };
        let path = folder.join(format!("{label}.{extension}"));
        nifti::write_volume(&path, &probability)?;
        Ok(Some(path))
    };
    let maps = votes.labels().par_iter().map(of_label).collect::<Result<Vec<_>, CliError>>()?;
    Ok([name].into_iter().chain(maps.into_iter().flatten()).collect())
}
