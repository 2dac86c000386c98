//! Sums of the resampled images and transforms of all subjects on the final template, and the files made from these
//! sums: template, labels, report.

use std::path::PathBuf;

use antsreg_cohort::template::{Movement, sharpen, sharpness};
use antsreg_core::{LabelVolume, Volume};
use antsreg_pool::WriteQueue;
use antsreg_report::{Member, Overview, overview};

use super::content::{Content, write_all};
use super::final_subject::FinalSubject;
use super::finish::FinishResults;
use super::last::Last;
use super::manifest::{self, Manifest};
use super::means::{Gathering, Means, fit};
use super::pictures::Drawn;
use super::session::Session;
use super::step::Step;
use super::{average, labels, report};
use crate::Error;

/// Sums of the resampled images and transforms of the subjects on the final template, with their labels and measures.
pub struct Sums<'a> {
    last: &'a Last<'a>,
    gathering: Gathering<'a>,
    /// Measures of each subject, for the report: correlation and mean length of the warp.
    figures: Vec<Vec<Option<f64>>>,
    labels: Vec<LabelVolume>,
}

impl<'a> Sums<'a> {
    /// Creates empty sums of the subjects' transforms and images, on the grid of the final template.
    pub fn new(session: &Session, last: &'a Last) -> Sums<'a> {
        let memory = fit(session.included.len(), &last.reference, true);
        let gathering = Gathering::new(session.plan.options.average, &last.reference, memory);
        Sums { last, gathering, figures: Vec::new(), labels: Vec::new() }
    }

    /// Adds the images and transforms of the next subject to the sums, and keeps the subject's labels and measures.
    ///
    /// # Errors
    /// Images on different grids.
    pub fn add(&mut self, subject: &FinalSubject, is_near_end: bool) -> Result<(), Error> {
        let FinalSubject { results, contribution, labels, .. } = subject;
        self.gathering.add(contribution.clone(), is_near_end)?;
        self.labels.extend(labels.clone());
        self.figures.push(vec![results.correlation, Some(results.warp_mean_voxels)]);
        Ok(())
    }

    /// Writes the template and its labels while the files of the subjects are being written, then the report and the
    /// manifest (list of all these files).
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(self, session: &Session, pass: usize, queue: &WriteQueue<Error>) -> Result<FinishResults, Error> {
        let extension = session.extension();
        let Means { images, warp, foreground, .. } = self.gathering.finish()?;
        let moved = warp.map(|warp| Movement::of(&warp, &self.last.reference.mask)).transpose()?;
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
            let maps = labels::write(session, self.labels)?;
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
            let (name, picture) = (session.subject(subject).name.clone(), session.picture(Drawn::Subject(subject))?);
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
