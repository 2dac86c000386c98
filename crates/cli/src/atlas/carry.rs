//! A subject carried to the last template: its transforms there and back, its images and labels, its files.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Brightness, Movement, likeness};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_study::template::{Manifest, Stage, SubjectFiles};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

use super::Error;
use super::content::{Content, write_all};
use super::forward::{Forward, There};
use super::onto::Seen;
use super::pass::Done;
use super::register_one::Contribution;
use super::session::{Drawn, Session};
use super::template::Template;
use crate::error::CliError;
use crate::inputs;

/// Figures of a subject on the last template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubjectResults {
    /// Pearson's, with the template's first channel in its foreground.
    pub correlation: Option<f64>,
    /// Length of its warp there.
    pub warp_mean_voxels: f64,
    /// How far the warp's inverse misses there, at most.
    inverse_misses_voxels: f64,
}

/// What the subjects' transforms to the last template are made from.
pub struct Carrying<'a> {
    pub session: &'a Session,
    pub pass: usize,
    pub extension: &'static str,
    pub last: Last<'a>,
}

/// The last pass.
pub struct Last<'a> {
    pub template: Arc<Template>,
    pub stretch: AffineTransform,
    pub shape: Cow<'a, DisplacementField>,
    /// What was found of the subjects, if this run has done it and there is memory for it.
    contributions: Option<&'a [Arc<Contribution>]>,
    /// Whether an earlier run may have handed out some of it.
    resumed: bool,
}

/// A subject on the last template.
pub struct Carried {
    /// About which the affine is written.
    centre: Point3<f64>,
    /// Its transforms to it, and its images there.
    pub contribution: Arc<Contribution>,
    pub labels: Option<LabelVolume>,
    pub results: SubjectResults,
}

/// A subject on its way, or all of it if it was done before.
pub type Passing<There> = Result<There, Box<Carried>>;

/// A subject that has arrived, and the inverse of its warp if that is not written yet.
pub struct Arrived {
    pub carried: Arc<Carried>,
    pub to_write: Option<DisplacementField>,
}

impl<'a> Last<'a> {
    /// From memory.
    pub fn of(done: &'a Done) -> Last<'a> {
        Last {
            template: done.updated.template.clone(),
            stretch: done.stretch,
            shape: Cow::Borrowed(&done.updated.shape),
            contributions: done.contributions.as_deref(),
            resumed: false,
        }
    }

    /// From the files of a pass.
    pub fn read(session: &Session, pass: usize) -> Result<Last<'a>, CliError> {
        let template = session.template_images(Some(pass))?;
        let grid = template.images[0].grid.clone();
        let shape = itk::read_warp(&session.layout.template(Some(pass)).shape)?;
        Ok(Last {
            template: Arc::new(template),
            stretch: itk::read_affine(&session.layout.average(pass).stretch)?,
            shape: Cow::Owned(DisplacementField { grid, ..shape }),
            contributions: None,
            resumed: true,
        })
    }
}

/// What a subject's files are made from.
fn stage<'a>(
    session: &'a Session,
    pass: usize,
    subject: usize,
    extension: &str,
    files: &SubjectFiles,
) -> Result<Stage<'a>, CliError> {
    let plan = session.subject(subject);
    let mut read = session.registered(pass, subject)?.outputs;
    read.extend(session.averaged(pass)?.outputs);
    read.extend(session.template(Some(pass))?.outputs.iter().cloned());
    read.extend(plan.labels.clone());
    let step = format!("finish {} as {extension}", plan.name);
    Ok(Stage::new(&session.layout, &session.plan.file.digest, step, files.manifest.clone(), read))
}

/// Writes a subject's transforms, images and labels; what it gives records them.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    subject: usize,
    extension: &'static str,
    carried: &Carried,
    inverse_warp: &DisplacementField,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    let files = session.layout.subject(&session.subject(subject).name, extension);
    let Carried { centre, contribution, labels, results, .. } = carried;
    let Contribution { affine, warp, warped, .. } = contribution.as_ref();
    itk::write_affine(&files.affine, affine, *centre)?;
    let mut outputs: Vec<(&Path, Content)> = vec![(&files.affine, Content::Written)];
    outputs.extend(warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
    outputs.push((&files.inverse_warp, Content::Warp(inverse_warp)));
    for (image, path) in warped.iter().zip(&files.warped) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.extend(labels.as_ref().map(|labels| (files.labels.as_path(), Content::Labels(labels))));
    let draw = || session.draw(Drawn::Subject(subject), &warped[0]);
    let (written, drawn) = rayon::join(|| write_all(&session.layout, &outputs), draw);
    drawn?;
    let (written, results) = (written?, results.clone());
    Ok(move || Ok(stage(session, pass, subject, extension, &files)?.finish(None, written, results)?))
}

impl Carrying<'_> {
    /// A subject and its transforms to the last template, or all of it if it was done before.
    pub fn read(&self, job: usize) -> Result<Passing<Forward>, CliError> {
        let Carrying { session, pass, last, .. } = self;
        let subject = session.included[job];
        if last.resumed
            && let Some(carried) = self.done_before(subject)?
        {
            return Ok(Err(Box::new(carried)));
        }
        let contribution = match last.contributions {
            Some(all) => all[job].clone(),
            None => Arc::new(Contribution::read_transforms(session, *pass, subject, &last.shape.grid)?),
        };
        Ok(Ok(Forward { contribution, images: session.images(subject)? }))
    }

    /// A subject that an earlier run has written.
    fn done_before(&self, subject: usize) -> Result<Option<Carried>, CliError> {
        let Carrying { session, pass, extension, last } = self;
        let plan = session.subject(subject);
        let files = session.layout.subject(&plan.name, extension);
        let Some(manifest) = stage(session, *pass, subject, extension, &files)?.done() else { return Ok(None) };
        let path = files.manifest.clone();
        let results = serde_json::from_value(manifest.results).map_err(|source| Error::Json { path, source })?;
        let grid = &last.shape.grid;
        let image =
            |path| -> Result<Volume, CliError> { Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }) };
        let warped = files.warped.iter().map(|path| image(path)).collect::<Result<Vec<_>, CliError>>()?;
        session.draw(Drawn::Subject(subject), &warped[0])?;
        let contribution = Contribution {
            affine: itk::read_affine(&files.affine)?,
            warp: Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
            brightness: warped.iter().map(Brightness::of).collect(),
            warped,
        };
        let labels = plan.labels.as_ref().map(|_| nifti::read_labels(&files.labels)).transpose()?;
        let centre = last.template.centre;
        Ok(Some(Carried { centre, contribution: Arc::new(contribution), labels, results }))
    }

    /// The subject's labels on the last template, and how well it fits.
    pub fn judge(&self, subject: usize, brought: Passing<There>) -> Result<Arrived, CliError> {
        let There { affine, warp, inverse_warp, missed, images, warped } = match brought {
            Ok(there) => there,
            Err(carried) => return Ok(Arrived { carried: Arc::new(*carried), to_write: None }),
        };
        let (warped, brightness) = Seen::brightness(warped);
        let (plan, template) = (self.session.subject(subject), &self.last.template);
        let grid = &template.images[0].grid;
        let chain = TransformChain::from(vec![Transform::Displacement(warp), Transform::Affine(affine)]);
        let labels = match &plan.labels {
            None => None,
            Some(file) => {
                let labels = inputs::labels_of(&file.path, &plan.images[0].path, &images[0].grid)?;
                Some(apply::resample_labels(&labels, grid, &chain, apply::LabelInterpolation::GenericLabel))
            }
        };
        let warp = chain.into_displacement().unwrap_or_else(|| DisplacementField::zeros(grid.clone()));
        let results = SubjectResults {
            correlation: likeness(&template.images[0], &warped[0], &template.mask)?,
            warp_mean_voxels: Movement::of(&warp, &template.mask)?.mean_voxels,
            inverse_misses_voxels: missed.largest_voxels,
        };
        let contribution = Arc::new(Contribution { affine, warp: Some(warp), warped, brightness });
        let carried = Carried { centre: template.centre, contribution, labels, results };
        Ok(Arrived { carried: Arc::new(carried), to_write: Some(inverse_warp) })
    }
}
