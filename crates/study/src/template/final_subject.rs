//! A subject on the final template: its transforms in both directions, its images and labels, and their files.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Brightness, Movement, correlation};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use nalgebra::Point3;

use super::content::{Content, write_all};
use super::contribution::Contribution;
use super::final_pass::FinalPass;
use super::manifest::{Manifest, Stage, results_of};
use super::onto_final::{MovedSubject, SubjectToMove};
use super::pictures::PictureOf;
use super::resampled::Resampled;
use super::results::SubjectResults;
use super::session::Session;
use super::step::Step;
use crate::{Error, inputs};

/// A subject registered and resampled to the final template.
pub struct FinalSubject {
    /// The subject's transforms, and the images on the template's grid.
    pub contribution: Arc<Contribution>,
    /// The images of the whole head on the template's grid, for a subject whose brain was registered instead of the
    /// head.
    pub heads: Option<Vec<Volume>>,
    /// The subject's labels on the template's grid; `None` for a subject without labels.
    pub labels: Option<LabelVolume>,
    /// Results of the subject's final registration: correlation, length of the warp, inverse consistency.
    pub results: SubjectResults,
    /// The centre of rotation that is written to the file of the affine transform, RAS mm.
    centre: Point3<f64>,
    /// Whether the affine is written as a transform of two dimensions.
    planar: bool,
}

/// A subject in the final step: what this run has computed for the subject (type `T`), or the final results that an
/// earlier run has written.
pub type OrDoneBefore<T> = Result<T, Box<FinalSubject>>;

/// A subject registered to the final template. If the subject's files must still be written, `to_write` is the inverse
/// of the subject's warp.
pub struct FinishedSubject {
    pub final_subject: Arc<FinalSubject>,
    pub to_write: Option<DisplacementField>,
}

/// The step that writes a subject's transforms and images on the final template. The step holds the records of its
/// input files.
fn stage(session: &Session, pass: usize, subject: usize) -> Result<Stage<'_>, Error> {
    let planned = session.subject(subject);
    let mut read = session.registered(pass, subject)?.outputs;
    read.extend(session.averaged(pass)?.outputs.iter().cloned());
    read.extend(session.template(Some(pass))?.outputs.iter().cloned());
    read.extend(planned.labels.clone());
    Ok(session.stage(Step::FinishSubject { subject: planned.name.clone(), extension: session.extension() }, read))
}

impl FinalSubject {
    /// Writes a subject's transforms, images and labels. Returns the function that writes the manifest.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write<'a>(
        &self,
        session: &'a Session,
        pass: usize,
        subject: usize,
        inverse_warp: &DisplacementField,
    ) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
        let files = session.layout.subject(&session.subject(subject).name, session.extension());
        let FinalSubject { contribution, heads, labels, results, centre, planar } = self;
        let Contribution { affine, warp, warped, .. } = contribution.as_ref();
        let warped = heads.as_ref().unwrap_or(warped);
        match planar {
            true => itk::write_affine_of_slices(&files.affine, affine, *centre)?,
            false => itk::write_affine(&files.affine, affine, *centre)?,
        }
        let mut outputs: Vec<(&Path, Content)> = vec![(&files.affine, Content::Written)];
        outputs.extend(warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
        outputs.push((&files.inverse_warp, Content::Warp(inverse_warp)));
        for (image, path) in warped.iter().zip(&files.warped) {
            outputs.push((path, Content::Image(image)));
        }
        outputs.extend(labels.as_ref().map(|labels| (files.labels.as_path(), Content::Labels(labels))));
        let draw = || session.pictures.draw(PictureOf::Subject(subject), &warped[0]);
        let (written, drawn) = rayon::join(|| write_all(&session.layout, &outputs), draw);
        drawn?;
        let (written, results) = (written?, results.clone());
        Ok(move || stage(session, pass, subject)?.finish(None, written, results))
    }
}

impl FinalPass<'_> {
    /// Reads a subject and its transforms to the template of the last pass. Returns the final results of the subject
    /// instead, if an earlier run has written them.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read_subject(&self, job: usize) -> Result<OrDoneBefore<SubjectToMove>, Error> {
        let FinalPass { session, pass, .. } = self;
        let subject = session.included[job];
        if self.resumed
            && let Some(final_subject) = self.done_before(subject)?
        {
            return Ok(Err(Box::new(final_subject)));
        }
        let contribution = match self.contributions {
            Some(all) => all[job].clone(),
            None => Arc::new(Contribution::read_transforms(session, *pass, subject, &self.shape.grid)?),
        };
        Ok(Ok(SubjectToMove { contribution, images: session.images(subject)? }))
    }

    /// The final results of a subject from an earlier run. `None` if the files of the subject do not exist. Also `None`
    /// if the files show the whole head although its brain was registered: the average needs images of the brain.
    fn done_before(&self, subject: usize) -> Result<Option<FinalSubject>, Error> {
        let FinalPass { session, pass, .. } = self;
        let planned = session.subject(subject);
        if planned.brain {
            return Ok(None);
        }
        let files = session.layout.subject(&planned.name, session.extension());
        let Some(manifest) = stage(session, *pass, subject)?.done()? else { return Ok(None) };
        let results = results_of(&manifest, files.manifest.clone())?;
        let grid = &self.shape.grid;
        let image =
            |path| -> Result<Volume, Error> { Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }) };
        let warped = files.warped.iter().map(|path| image(path)).collect::<Result<Vec<_>, Error>>()?;
        session.pictures.draw(PictureOf::Subject(subject), &warped[0])?;
        let contribution = Contribution {
            affine: itk::read_affine(&files.affine)?,
            warp: Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
            brightness: warped.iter().map(Brightness::of).collect(),
            warped,
        };
        let labels = planned.labels.as_ref().map(|_| nifti::read_labels(&files.labels)).transpose()?;
        // The files of this subject are not written again, so the centre of rotation and the number of dimensions of
        // its affine file do not matter.
        let (centre, planar) = (self.reference.centre, false);
        let contribution = Arc::new(contribution);
        Ok(Some(FinalSubject { contribution, heads: None, labels, results, centre, planar }))
    }

    /// Resamples a subject's labels on the final template, and computes the statistics of the subject's registration.
    ///
    /// # Errors
    /// Labels that cannot be read.
    pub fn measure_subject(
        &self,
        subject: usize,
        moved: OrDoneBefore<MovedSubject>,
    ) -> Result<FinishedSubject, Error> {
        let MovedSubject { affine, warp, inverse_warp, consistency, images, warped } = match moved {
            Ok(moved) => moved,
            Err(before) => return Ok(FinishedSubject { final_subject: Arc::new(*before), to_write: None }),
        };
        let (warped, brightness) = Resampled::brightness(warped);
        let (planned, reference) = (self.session.subject(subject), &self.reference);
        let grid = &reference.images[0].grid;
        let chain = TransformChain::from(vec![Transform::Displacement(warp), Transform::Affine(affine)]);
        let labels = match &planned.labels {
            None => None,
            Some(file) => {
                self.session.check_inputs(std::slice::from_ref(file))?;
                let labels = inputs::labels_of(&file.path, &planned.images[0].path, &images[0].grid)?;
                Some(apply::resample_labels(&labels, grid, &chain, apply::LabelInterpolation::GenericLabel))
            }
        };
        let whole = match planned.brain {
            true => Some(self.session.whole_images(subject)?),
            false => None,
        };
        let interpolation = self.session.plan.options.interpolation;
        let onto = |image: &Arc<Volume>| apply::resample(image, grid, &chain, interpolation.into(), 0.0);
        let heads = whole.map(|images| images.iter().map(onto).collect());
        let warp = chain.into_displacement().unwrap_or_else(|| DisplacementField::zeros(grid.clone()));
        let results = SubjectResults {
            correlation: correlation(&reference.images[0], &warped[0], &reference.mask)?,
            warp_mean_voxels: Movement::of(&warp, &reference.mask)?.mean_voxels,
            inverse_misses_voxels: consistency.largest_voxels,
        };
        // The affine of slices across the z axis is written as a two-dimensional transform, as in ITK.
        let slices = [grid, &images[0].grid].iter().all(|grid| grid.is_slice_across_z());
        let planar = slices && itk::stays_in_plane(&affine);
        let contribution = Arc::new(Contribution { affine, warp: Some(warp), warped, brightness });
        let centre = reference.centre;
        let final_subject = FinalSubject { contribution, heads, labels, results, centre, planar };
        Ok(FinishedSubject { final_subject: Arc::new(final_subject), to_write: Some(inverse_warp) })
    }
}
