//! The average of a pass: images, warps, stretches.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Averaging, mean_stretch, sharpness};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_study::template::Manifest;
use serde::{Deserialize, Serialize};

use super::Error;
use super::content::{Content, write_all};
use super::gather::{Gathering, Means};
use super::register_one::{Contribution, RegistrationResults};
use super::session::Session;
use super::template::Template;
use crate::error::CliError;

/// The start is averaged without subjects whose correlation lies this many robust deviations below the median.
const OUTLIER_DEVIATIONS: f64 = 4.0;
/// Deviations are taken to be at least this large: affine registrations of alike subjects differ by so much.
const LEAST_DEVIATION: f64 = 0.03;
/// From the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL: f64 = 1.4826;

/// What a pass came to.
pub struct Averaged {
    /// Each channel.
    pub images: Vec<Volume>,
    /// The mean warp; none in the affine pass.
    pub warp: Option<DisplacementField>,
    /// The mean stretch from the template to the subjects, as the file has it.
    pub stretch: AffineTransform,
}

/// An average, not written yet but for its stretch.
pub struct Summed {
    /// What it is.
    pub averaged: Averaged,
    brain: Volume,
    subjects: Vec<String>,
    outliers: Vec<String>,
}

/// Figures of an average.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AverageResults {
    /// Who was averaged.
    pub subjects: Vec<String>,
    /// Who was too unlike the others to start from.
    outliers: Vec<String>,
    /// The mean stretch, row by row.
    stretch: [[f64; 3]; 3],
    /// Mean gradient magnitude per mm over the mean intensity, both where at least half of the subjects have brain.
    pub sharpness_per_mm: f64,
}

/// The affine average is the plain mean, as others make it.
pub fn averaging(session: &Session, pass: usize) -> Averaging {
    if session.is_affine(pass) { Averaging::Mean } else { session.plan.args.average.into() }
}

impl Summed {
    /// Of the means of a pass; writes the mean stretch, and takes it as its file has it.
    pub fn of(session: &Session, pass: usize, means: Means, outliers: &[usize]) -> Result<Summed, CliError> {
        let Means { images, warp, affines, brain } = means;
        let files = session.layout.average(pass);
        let centre = images[0].centre_of_mass().unwrap_or_else(|| images[0].grid.centre());
        let stretch = mean_stretch(&affines, centre).map_err(Error::Stretch)?;
        itk::write_affine(&files.stretch, &stretch, centre)?;
        let stretch = itk::read_affine(&files.stretch)?;
        let (out, of): (Vec<usize>, Vec<usize>) = session.included.iter().partition(|n| outliers.contains(n));
        let names = |these: Vec<usize>| these.into_iter().map(|n| session.subject(n).name.clone()).collect();
        let averaged = Averaged { images, warp, stretch };
        Ok(Summed { averaged, brain, subjects: names(of), outliers: names(out) })
    }
}

/// Averages what a pass has found of each subject.
pub fn of_contributions(
    session: &Session,
    pass: usize,
    template: &Template,
    contributions: &[Arc<Contribution>],
    outliers: &[usize],
) -> Result<Summed, CliError> {
    let all = session.included.iter().zip(contributions).filter(|(subject, _)| !outliers.contains(subject));
    let all: Vec<&Contribution> = all.map(|(_, contribution)| contribution.as_ref()).collect();
    Summed::of(session, pass, Means::of(averaging(session, pass), template, &all)?, outliers)
}

/// Averages a pass from its files.
pub fn from_files(session: &Session, pass: usize, template: &Template) -> Result<Summed, CliError> {
    let outliers = match session.is_affine(pass) {
        true => outliers(session, &correlations(session, pass)?),
        false => Vec::new(),
    };
    let mut gathering = Gathering::new(averaging(session, pass), template, false);
    for &subject in session.included.iter().filter(|subject| !outliers.contains(subject)) {
        let contribution = Contribution::read(session, pass, subject, &template.images[0].grid)?;
        gathering.add(Arc::new(contribution), false)?;
    }
    Summed::of(session, pass, gathering.finish()?, &outliers)
}

/// Writes the files of an average; what it gives records them.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    summed: &Summed,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    let files = session.layout.average(pass);
    let Summed { averaged: Averaged { images, warp, stretch }, brain, subjects, outliers } = summed;
    let mut outputs: Vec<(&Path, Content)> = vec![(&files.stretch, Content::Written)];
    for (path, image) in files.images.iter().zip(images) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.extend(warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
    let results = AverageResults {
        subjects: subjects.clone(),
        outliers: outliers.clone(),
        stretch: std::array::from_fn(|row| std::array::from_fn(|column| stretch.matrix[(row, column)])),
        sharpness_per_mm: sharpness(&images[0], brain)?,
    };
    let written = write_all(&session.layout, &outputs)?;
    Ok(move || Ok(session.average_stage(pass)?.finish(None, written, results)?))
}

/// What an average that is done came to.
pub fn read(session: &Session, pass: usize, template: &Template) -> Result<Averaged, CliError> {
    let files = session.layout.average(pass);
    let grid = &template.images[0].grid;
    let image = |path| -> Result<Volume, CliError> { Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }) };
    Ok(Averaged {
        images: files.images.iter().map(|path| image(path)).collect::<Result<_, _>>()?,
        warp: match session.is_affine(pass) {
            true => None,
            false => Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
        },
        stretch: itk::read_affine(&files.stretch)?,
    })
}

/// Figures of a registration's manifest.
pub fn results_of(
    session: &Session,
    pass: usize,
    subject: usize,
    manifest: &Manifest,
) -> Result<RegistrationResults, Error> {
    let path = session.layout.registration(pass, &session.subject(subject).name).manifest;
    serde_json::from_value(manifest.results.clone()).map_err(|source| Error::Json { path, source })
}

/// How sharp the average of a pass is.
pub fn sharpness_of(session: &Session, pass: usize) -> Result<f64, CliError> {
    let path = session.layout.average(pass).manifest;
    let results = session.averaged(pass)?.results;
    let results: AverageResults = serde_json::from_value(results).map_err(|source| Error::Json { path, source })?;
    Ok(results.sharpness_per_mm)
}

/// How well each subject of a pass fits, as its manifest has it.
fn correlations(session: &Session, pass: usize) -> Result<Vec<f64>, CliError> {
    let of_subject = |&subject: &usize| {
        let manifest = session.registered(pass, subject)?;
        Ok(results_of(session, pass, subject, &manifest)?.correlation.unwrap_or(-1.0))
    };
    session.included.iter().map(of_subject).collect()
}

/// Subjects whose affine registration plainly failed.
pub fn outliers(session: &Session, correlations: &[f64]) -> Vec<usize> {
    let lowest = lowest_usual(correlations);
    let unusual = session.included.iter().zip(correlations).filter(|(_, correlation)| **correlation < lowest);
    unusual.map(|(subject, _)| *subject).collect()
}

/// Below this a value is an outlier.
fn lowest_usual(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    let deviation = NORMAL * median(values.iter().map(|value| (value - middle).abs()).collect());
    middle - OUTLIER_DEVIATIONS * deviation.max(LEAST_DEVIATION)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => 0.5 * (values[count / 2 - 1] + values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_failures_are_outliers() {
        let alike = [1.0, 0.82, 0.80, 0.78, 0.81, 0.75];
        let lowest = lowest_usual(&alike);
        assert!(alike.iter().all(|value| *value >= lowest));
        assert!(lowest > 0.5, "a failed registration correlates by 0.3 or so: {lowest}");
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0, 10.0]), 2.5);
    }
}
