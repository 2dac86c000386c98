//! The average of a pass: images, warps, stretches.

use std::path::Path;

use antsreg_cohort::template::{ImageMean, WarpMean, mean_stretch};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use serde::Serialize;

use super::Error;
use super::manifest::Manifest;
use super::register_one::{Contribution, RegistrationResults};
use super::session::{Session, Template};
use crate::error::CliError;

/// The start is averaged without subjects whose correlation lies this many robust deviations below the median.
const OUTLIER_DEVIATIONS: f64 = 4.0;
/// Deviations are taken to be at least this large: affine registrations of alike subjects differ by so much.
const LEAST_DEVIATION: f64 = 0.03;
/// From the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL: f64 = 1.4826;

/// Adds contributions up, in the order of the subjects.
pub struct Accumulator {
    images: Vec<ImageMean>,
    warp: Option<WarpMean>,
    affines: Vec<AffineTransform>,
}

/// What a pass came to.
pub struct Averaged {
    /// Each channel.
    pub images: Vec<Volume>,
    /// The mean warp; none in the affine pass.
    pub warp: Option<DisplacementField>,
    /// The mean stretch from the template to the subjects, as the file has it.
    pub stretch: AffineTransform,
}

/// Figures of an average.
#[derive(Debug, Serialize)]
struct AverageResults {
    /// Who was averaged.
    subjects: Vec<String>,
    /// Who was too unlike the others to start from.
    outliers: Vec<String>,
    /// The mean stretch, row by row.
    stretch: [[f64; 3]; 3],
}

impl Accumulator {
    /// Of a pass to this template.
    pub fn new(session: &Session, pass: usize, template: &Template) -> Accumulator {
        let grid: &Grid = &template.images[0].grid;
        Accumulator {
            images: template.images.iter().map(|_| ImageMean::new(grid)).collect(),
            warp: (!session.is_affine(pass)).then(|| WarpMean::new(grid)),
            affines: Vec::new(),
        }
    }

    /// Adds one.
    pub fn add(&mut self, contribution: &Contribution) -> Result<(), CliError> {
        for (mean, image) in self.images.iter_mut().zip(&contribution.warped) {
            mean.add(image)?;
        }
        if let (Some(mean), Some(warp)) = (&mut self.warp, &contribution.warp) {
            mean.add(warp)?;
        }
        self.affines.push(contribution.affine);
        Ok(())
    }

    /// Writes the means.
    fn finish(self, session: &Session, pass: usize, outliers: Vec<String>) -> Result<Averaged, CliError> {
        let stage = session.average_stage(pass)?;
        let files = session.layout.average(pass);
        let images: Vec<Volume> = self.images.into_iter().map(ImageMean::finish).collect();
        let warp = self.warp.map(WarpMean::finish);
        let centre = images[0].centre_of_mass().unwrap_or_else(|| images[0].grid.centre());
        let stretch = mean_stretch(&self.affines, centre).map_err(Error::Stretch)?;
        let mut outputs: Vec<&Path> = Vec::new();
        for (path, image) in files.images.iter().zip(&images) {
            nifti::write_volume(path, image)?;
            outputs.push(path);
        }
        if let Some(warp) = &warp {
            itk::write_warp(&files.warp, warp)?;
            outputs.push(&files.warp);
        }
        itk::write_affine(&files.stretch, &stretch, centre)?;
        outputs.push(&files.stretch);
        let stretch = itk::read_affine(&files.stretch)?;
        let names = session.included.iter().map(|&subject| session.subject(subject).name.clone());
        let results = AverageResults {
            subjects: names.filter(|name| !outliers.contains(name)).collect(),
            outliers,
            stretch: std::array::from_fn(|row| std::array::from_fn(|column| stretch.matrix[(row, column)])),
        };
        stage.finish(None, &outputs, results)?;
        Ok(Averaged { images, warp, stretch })
    }
}

/// Averages what has been added up already.
pub fn finish(accumulator: Accumulator, session: &Session, pass: usize) -> Result<Averaged, CliError> {
    accumulator.finish(session, pass, Vec::new())
}

/// Averages a pass from its files.
pub fn from_files(session: &Session, pass: usize, template: &Template) -> Result<Averaged, CliError> {
    let outliers = if session.is_affine(pass) { outliers(session, pass)? } else { Vec::new() };
    let mut accumulator = Accumulator::new(session, pass, template);
    for &subject in session.included.iter().filter(|subject| !outliers.contains(subject)) {
        accumulator.add(&Contribution::read(session, pass, subject, template)?)?;
    }
    let names = outliers.iter().map(|&subject| session.subject(subject).name.clone()).collect();
    accumulator.finish(session, pass, names)
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

/// Subjects whose affine registration plainly failed.
fn outliers(session: &Session, pass: usize) -> Result<Vec<usize>, CliError> {
    let mut correlations = Vec::new();
    for &subject in &session.included {
        let manifest = session.registered(pass, subject)?;
        correlations.push(results_of(session, pass, subject, &manifest)?.correlation.unwrap_or(-1.0));
    }
    let lowest = lowest_usual(&correlations);
    let unusual = session.included.iter().zip(&correlations).filter(|(_, correlation)| **correlation < lowest);
    Ok(unusual.map(|(subject, _)| *subject).collect())
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
