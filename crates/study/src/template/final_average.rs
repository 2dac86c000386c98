//! Sums of the resampled images and transforms of all subjects on the final template, and the files made from these
//! sums: template, labels, report.

use std::path::PathBuf;

use antsreg_cohort::template::{Movement, Votes, sharpen, sharpness};
use antsreg_core::io::{nifti, outputs};
use antsreg_core::{LabelVolume, Volume};
use antsreg_pool::WriteQueue;
use antsreg_report::{Member, Overview, overview};
use rayon::prelude::*;

use super::content::{Content, write_all};
use super::final_pass::FinalPass;
use super::final_subject::FinalSubject;
use super::manifest::{self, Manifest};
use super::means::{Means, RunningMeans, fit};
use super::pictures::PictureOf;
use super::results::FinishResults;
use super::session::Session;
use super::step::Step;
use super::{average, report};
use crate::Error;

/// Sums of the resampled images and transforms of the subjects on the final template, with their labels and measures.
pub struct FinalAverage<'a> {
    final_pass: &'a FinalPass<'a>,
    means_so_far: RunningMeans<'a>,
    /// Measures of each subject, for the report: correlation and mean length of the warp.
    figures: Vec<Vec<Option<f64>>>,
    labels: Vec<LabelVolume>,
}

impl<'a> FinalAverage<'a> {
    /// Creates empty sums of the subjects' transforms and images, on the grid of the final template.
    pub fn new(final_pass: &'a FinalPass) -> FinalAverage<'a> {
        let FinalPass { session, reference, .. } = final_pass;
        let memory = fit(session.included.len(), reference, true);
        let means_so_far = RunningMeans::new(session.plan.options.average, reference, memory);
        FinalAverage { final_pass, means_so_far, figures: Vec::new(), labels: Vec::new() }
    }

    /// Adds the images and transforms of the next subject to the sums, and keeps the subject's labels and measures.
    ///
    /// # Errors
    /// Images on different grids.
    pub fn add(&mut self, subject: &FinalSubject, is_near_end: bool) -> Result<(), Error> {
        let FinalSubject { results, contribution, labels, .. } = subject;
        self.means_so_far.add(contribution.clone(), is_near_end)?;
        self.labels.extend(labels.clone());
        self.figures.push(vec![results.correlation, Some(results.warp_mean_voxels)]);
        Ok(())
    }

    /// Writes the template and its labels while the files of the subjects are being written, then the report and the
    /// manifest.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(self, queue: &WriteQueue<Error>) -> Result<FinishResults, Error> {
        let FinalPass { session, pass, ref reference, .. } = *self.final_pass;
        let extension = session.extension();
        let Means { images, warp, foreground, .. } = self.means_so_far.finish()?;
        let moved = warp.map(|warp| Movement::of(&warp, &reference.mask)).transpose()?;
        let mean_final_warp_voxels = moved.map_or(0.0, |moved| moved.mean_voxels);
        let sharpened = session.plan.options.sharpen;
        let images: Vec<Volume> =
            images.into_iter().map(|image| if sharpened { sharpen(&image) } else { image }).collect();
        let files = session.layout.result(extension);
        let files: Vec<_> = files.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image)).collect();
        let ((sharpness_per_mm, picture), written) = rayon::join(
            || rayon::join(|| sharpness(&images[0], &foreground), || overview(&images[0], Overview::Large)),
            || write_all(&session.layout, &files),
        );
        let (sharpness_per_mm, mut written) = (sharpness_per_mm?, written?);
        if !self.labels.is_empty() {
            let maps = write_labels(session, self.labels)?;
            let maps: Vec<_> = maps.iter().map(|map| (map.as_path(), Content::Written)).collect();
            written.extend(write_all(&session.layout, &maps)?);
        }
        queue.settle()?;
        let mut inputs = session.template(Some(pass))?.outputs.clone();
        for &subject in &session.included {
            let files = session.layout.subject(&session.subject(subject).name, extension);
            inputs.extend(manifest::read::<Manifest>(&files.manifest)?.outputs);
        }
        let passes = report::passes(session, pass)?;
        let member = |(&subject, values)| -> Result<Member, Error> {
            let (name, picture) =
                (session.subject(subject).name.clone(), session.picture(PictureOf::Subject(subject))?);
            Ok(Member { name, status: "done".into(), thumbnail: Some(picture), values, ..Member::default() })
        };
        let members: Vec<Member> = session.included.iter().zip(self.figures).map(member).collect::<Result<_, _>>()?;
        report::write(session, &passes, picture?, &members, mean_final_warp_voxels)?;
        let sharper_than_affine_average = match session.plan.first_pass {
            0 => Some(sharpness_per_mm / average::sharpness_of(session, 0)?),
            _ => None,
        };
        let results = FinishResults { pass, sharpness_per_mm, mean_final_warp_voxels, sharper_than_affine_average };
        session.stage(Step::Finish { extension }, inputs).finish(None, written, &results)?;
        Ok(results)
    }
}

/// Writes the template's labels and a probability map for each label; returns the files.
///
/// # Errors
/// Label maps on different grids; a file that cannot be written.
fn write_labels(session: &Session, maps: Vec<LabelVolume>) -> Result<Vec<PathBuf>, Error> {
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
