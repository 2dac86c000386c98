//! The average of a pass: mean images, mean warp, and mean stretch.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Averaging, mean_stretch, sharpness};
use antsreg_core::io::{itk, nifti, outputs};
use antsreg_core::{AffineTransform, DisplacementField, Volume};

use super::Error as TemplateError;
use super::content::{Content, write_all};
use super::contribution::Contribution;
use super::manifest::{Manifest, results_of};
use super::means::{Means, RunningMeans};
use super::reference::Reference;
use super::results::{AverageResults, RegistrationResults};
use super::session::Session;
use crate::Error;

/// The average of the subjects after a pass has registered them to the template.
pub struct Averaged {
    /// The mean image of each channel.
    pub images: Vec<Volume>,
    /// The mean warp; `None` in the affine pass.
    pub warp: Option<DisplacementField>,
    /// Mean stretch: the mean of the affine transforms from the template to the subjects, without their rotations and
    /// shifts. Its numbers are rounded to the precision of its file.
    pub stretch: AffineTransform,
}

/// The average of the subjects in a pass, with its statistics. The file of the mean stretch has been written, the
/// other files have not.
pub struct AverageToWrite {
    /// The average.
    pub averaged: Averaged,
    /// Mask: 1 where at least half of the subjects have foreground, else 0.
    foreground: Volume,
    subjects: Vec<String>,
    outliers: Vec<String>,
}

/// How the images of the subjects are averaged in a pass. The affine pass (pass 0) uses the mean, as other programs
/// do; all other passes use the kind of average in the options.
pub fn averaging(session: &Session, pass: usize) -> Averaging {
    if session.is_affine(pass) { Averaging::Mean } else { session.plan.options.average }
}

impl AverageToWrite {
    /// Creates the average from the mean images, the mean warp and the affine transforms of a pass. Writes the mean
    /// stretch to a file, and uses the rounded numbers of this file.
    ///
    /// # Errors
    /// Affine transforms whose mean does not exist; a file that cannot be written.
    pub fn of(session: &Session, pass: usize, means: Means, outliers: &[usize]) -> Result<AverageToWrite, Error> {
        let Means { images, warp, affines, foreground } = means;
        let files = session.layout.average(pass);
        let centre = images[0].centre_of_mass().unwrap_or_else(|| images[0].grid.centre());
        let stretch = mean_stretch(&affines, centre).map_err(TemplateError::Stretch)?;
        outputs::make_folder(&session.layout.pass(pass))?;
        itk::write_affine(&files.stretch, &stretch, centre)?;
        let stretch = itk::read_affine(&files.stretch)?;
        let (out, of): (Vec<usize>, Vec<usize>) = session.included.iter().partition(|n| outliers.contains(n));
        let names = |these: Vec<usize>| these.into_iter().map(|n| session.subject(n).name.clone()).collect();
        let averaged = Averaged { images, warp, stretch };
        Ok(AverageToWrite { averaged, foreground, subjects: names(of), outliers: names(out) })
    }
}

/// Averages the subjects of a pass, from data in memory. `contributions` holds the transforms and resampled images of
/// each subject.
///
/// # Errors
/// The errors of [`AverageToWrite::of`]; images on different grids.
pub fn of_contributions(
    session: &Session,
    pass: usize,
    reference: &Reference,
    contributions: &[Arc<Contribution>],
    outliers: &[usize],
) -> Result<AverageToWrite, Error> {
    let all = session.included.iter().zip(contributions).filter(|(subject, _)| !outliers.contains(subject));
    let all: Vec<&Contribution> = all.map(|(_, contribution)| contribution.as_ref()).collect();
    AverageToWrite::of(session, pass, Means::of(averaging(session, pass), reference, &all)?, outliers)
}

/// Averages the subjects of a pass, from their files.
///
/// # Errors
/// The errors of [`AverageToWrite::of`]; a file that cannot be read.
pub fn from_files(session: &Session, pass: usize, reference: &Reference) -> Result<AverageToWrite, Error> {
    let outliers = match session.is_affine(pass) {
        true => outliers(session, &correlations(session, pass)?),
        false => Vec::new(),
    };
    let mut means_so_far = RunningMeans::new(averaging(session, pass), reference, false);
    for &subject in session.included.iter().filter(|subject| !outliers.contains(subject)) {
        let contribution = Contribution::read(session, pass, subject, &reference.images[0].grid)?;
        means_so_far.add(Arc::new(contribution), false)?;
    }
    AverageToWrite::of(session, pass, means_so_far.finish()?, &outliers)
}

/// Writes the files of an average. Returns the function that writes the manifest.
///
/// # Errors
/// A file that cannot be written.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    summed: &AverageToWrite,
) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
    let files = session.layout.average(pass);
    let AverageToWrite { averaged: Averaged { images, warp, stretch }, foreground, subjects, outliers } = summed;
    let mut outputs: Vec<(&Path, Content)> = vec![(&files.stretch, Content::Written)];
    for (path, image) in files.images.iter().zip(images) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.extend(warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
    let results = AverageResults {
        subjects: subjects.clone(),
        outliers: outliers.clone(),
        stretch: std::array::from_fn(|row| std::array::from_fn(|column| stretch.matrix[(row, column)])),
        sharpness_per_mm: sharpness(&images[0], foreground)?,
    };
    let written = write_all(&session.layout, &outputs)?;
    Ok(move || session.average_stage(pass)?.finish(None, written, results))
}

/// Reads an average that an earlier step has written.
///
/// # Errors
/// A file that cannot be read.
pub fn read(session: &Session, pass: usize, reference: &Reference) -> Result<Averaged, Error> {
    let files = session.layout.average(pass);
    let grid = &reference.images[0].grid;
    let image = |path| -> Result<Volume, Error> { Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }) };
    Ok(Averaged {
        images: files.images.iter().map(|path| image(path)).collect::<Result<_, _>>()?,
        warp: match session.is_affine(pass) {
            true => None,
            false => Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
        },
        stretch: itk::read_affine(&files.stretch)?,
    })
}

/// The sharpness of the average of a pass, per mm.
///
/// # Errors
/// The average has not been made.
pub fn sharpness_of(session: &Session, pass: usize) -> Result<f64, Error> {
    let results: AverageResults = results_of(&*session.averaged(pass)?, session.layout.average(pass).manifest)?;
    Ok(results.sharpness_per_mm)
}

/// The correlation of a subject with the template, read from the manifest of the subject's registration.
///
/// # Errors
/// A manifest without the results of a registration.
pub fn correlation_of(
    session: &Session,
    pass: usize,
    subject: usize,
    manifest: &Manifest,
) -> Result<Option<f64>, Error> {
    let path = session.layout.registration(pass, &session.subject(subject).name).manifest;
    Ok(results_of::<RegistrationResults>(manifest, path)?.correlation)
}

/// The correlation of each subject with the template in a pass, read from the manifests of the registrations.
fn correlations(session: &Session, pass: usize) -> Result<Vec<f64>, Error> {
    let of_subject = |&subject: &usize| {
        let manifest = session.registered(pass, subject)?;
        Ok(correlation_of(session, pass, subject, &manifest)?.unwrap_or(-1.0))
    };
    session.included.iter().map(of_subject).collect()
}

/// The outliers among the subjects of a template, as indices in its list of subjects. `correlations` holds the
/// correlation of each subject with the template.
pub fn outliers(session: &Session, correlations: &[f64]) -> Vec<usize> {
    let lowest = crate::outliers::lowest_usual(correlations);
    let unusual = session.included.iter().zip(correlations).filter(|(_, correlation)| **correlation < lowest);
    unusual.map(|(subject, _)| *subject).collect()
}
