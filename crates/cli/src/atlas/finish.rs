//! What is handed out: the template, every subject's transforms to it, labels and the report.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape. What is handed
//! out is made without that blur: each subject is read once, through its transforms and the last update together, and
//! these are averaged. So the template is just what the transforms that lie beside it make of the subjects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use antsreg_cohort::template::{ImageMean, Movement, WarpMean, foreground, from_new_template, sharpen, sharpness};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::{InversionLimits, apply};
use serde::{Deserialize, Serialize};

use super::layout::SubjectFiles;
use super::manifest::{self, Manifest, Stage};
use super::page::{self, Contents, Row};
use super::register_one::{Contribution, displacement};
use super::session::{Session, Template};
use super::start::make_folder;
use super::update::TemplateResults;
use super::{Error, chart, labels, slices};
use crate::cohort::{Crew, Engine, run as pipeline};
use crate::compare;
use crate::error::CliError;
use crate::inputs;
use crate::progress::Console;

/// The inverse of a final warp, to a small fraction of a voxel.
const INVERSION: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.0 };

/// Figures of a subject on the last template.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SubjectResults {
    /// Pearson's, with the template's first channel in its foreground.
    correlation: Option<f64>,
    /// Length of its warp there.
    warp_mean_voxels: f64,
    /// How far the warp's inverse misses, at most.
    inverse_misses_voxels: f64,
}

/// Figures of the atlas.
#[derive(Debug, Serialize)]
struct AtlasResults {
    /// The last pass.
    pass: usize,
    /// Mean gradient magnitude in the foreground, per mm, over the mean intensity there.
    sharpness_per_mm: f64,
    /// Length of the mean of all final warps in the foreground: 0 for a template without bias.
    mean_final_warp_voxels: f64,
    /// Sharpness of the template over that of the affine average, if there is one.
    sharper_than_affine_average: Option<f64>,
}

/// What the subjects' transforms to the last template are made from.
struct Carrying<'a> {
    session: &'a Session,
    pass: usize,
    extension: &'static str,
    /// The template that the subjects were registered to.
    before: Template,
    template: Template,
    stretch: AffineTransform,
    shape: DisplacementField,
}

/// What the report and the means need of a subject.
struct Carried {
    manifest: Manifest,
    results: SubjectResults,
    warp: DisplacementField,
    warped: Vec<Volume>,
    labels: Option<LabelVolume>,
    picture: String,
}

/// A subject on its way.
enum Passing {
    /// Its transforms to the last template.
    Forward { affine: AffineTransform, warp: DisplacementField },
    /// … and back.
    Both { affine: AffineTransform, warp: DisplacementField, inverse: DisplacementField, misses: f64 },
    /// All was done before.
    Done(Box<Carried>),
}

impl Passing {
    /// Finds the way back.
    fn invert(self, engine: &Engine) -> Result<Passing, CliError> {
        let Passing::Forward { affine, warp } = self else { return Ok(self) };
        let (inverse, misses) = engine.invert(&warp, &INVERSION)?;
        Ok(Passing::Both { affine, warp, inverse, misses })
    }
}

/// Hands out what is not there yet.
pub fn run(session: &Session, engines: &mut [Engine], console: &mut Console) -> Result<(), CliError> {
    let pass = session.final_pass()?;
    let template = session.template_images(Some(pass))?;
    let carrying = Carrying {
        session,
        pass,
        extension: session.plan.args.format.extension(),
        before: session.template_images(session.before(pass))?,
        stretch: itk::read_affine(&session.layout.average(pass).stretch)?,
        shape: DisplacementField {
            grid: template.images[0].grid.clone(),
            ..itk::read_warp(&session.layout.template(Some(pass)).shape)?
        },
        template,
    };
    make_folder(&session.layout.subjects())?;
    let grid = &carrying.shape.grid;
    let mut mean = WarpMean::new(grid);
    let mut images: Vec<ImageMean> = carrying.template.images.iter().map(|_| ImageMean::new(grid)).collect();
    let (mut rows, mut maps, mut inputs) = (Vec::new(), Vec::new(), session.template(Some(pass))?.outputs.clone());
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    let mut take = |job: usize, carried: Carried| -> Result<(), CliError> {
        waiting.insert(job, carried);
        while let Some(Carried { manifest, results, warp, warped, labels, picture }) = waiting.remove(&next) {
            mean.add(&warp)?;
            for (mean, image) in images.iter_mut().zip(&warped) {
                mean.add(image)?;
            }
            inputs.extend(manifest.outputs);
            maps.extend(labels);
            let note = format!(
                "correlation {:.4}, warp {:.2} voxels",
                results.correlation.unwrap_or(f64::NAN),
                results.warp_mean_voxels
            );
            rows.push(Row { title: session.subject(session.included[next]).name.clone(), note, picture });
            next += 1;
        }
        Ok(())
    };
    let read = |job: usize| (job, carrying.read(session.included[job]));
    let compute = |engine: &mut &mut Engine, (job, read): (usize, Result<Passing, CliError>)| {
        (job, read.and_then(|passing| passing.invert(engine)))
    };
    let write = |(job, passing): (usize, Result<Passing, CliError>)| {
        (job, passing.and_then(|passing| carrying.write(session.included[job], passing)))
    };
    let mut failed = None;
    let (jobs, crew) = ((0..session.included.len()).collect(), Crew::for_workers(engines.len()));
    pipeline(jobs, crew, engines.iter_mut().collect(), read, compute, write, |(job, carried)| {
        if let Err(error) = carried.and_then(|carried| take(job, carried)) {
            failed.get_or_insert(error);
        }
    });
    failed.map_or(Ok(()), Err)?;
    let mean_final_warp_voxels = Movement::of(&mean.finish(), &carrying.template.mask)?.mean_voxels;
    let stage = Stage::new(
        &session.layout,
        &session.plan.file.digest,
        format!("finish as {}", carrying.extension),
        session.layout.root().join("template.json"),
        inputs,
    );
    let mut written = session.layout.result(carrying.extension);
    let images: Vec<Volume> = images.into_iter().map(ImageMean::finish).collect();
    let sharpened = images.iter().map(|image| if session.plan.args.sharpen { sharpen(image) } else { image.clone() });
    let images: Vec<Volume> = sharpened.collect();
    for (path, image) in written.iter().zip(&images) {
        nifti::write_volume(path, image)?;
    }
    let sharpness_per_mm = sharpness(&images[0], &foreground(&images[0]))?;
    if !maps.is_empty() {
        written.extend(labels::write(session, maps, carrying.extension)?);
    }
    let passes = passes(session, pass)?;
    report(session, &passes, &images[0], rows, mean_final_warp_voxels)?;
    let sharper = match passes.first() {
        Some(first) if first.pass == 0 => Some(sharpness_per_mm / first.sharpness_per_mm),
        _ => None,
    };
    let results =
        AtlasResults { pass, sharpness_per_mm, mean_final_warp_voxels, sharper_than_affine_average: sharper };
    let outputs: Vec<&Path> = written.iter().map(PathBuf::as_path).collect();
    stage.finish(None, &outputs, results)?;
    console.note(format_args!("mean of the final warps: {mean_final_warp_voxels:.4} voxels"));
    if let Some(sharper) = sharper {
        console.note(format_args!("{sharper:.2} times as sharp as the affine average"));
    }
    Ok(())
}

impl Carrying<'_> {
    /// What the subject's files are made from.
    fn stage(&self, subject: usize, files: &SubjectFiles) -> Result<Stage<'_>, CliError> {
        let session = self.session;
        let plan = session.subject(subject);
        let mut read = session.registered(self.pass, subject)?.outputs;
        read.extend(session.averaged(self.pass)?.outputs);
        read.extend(session.template(Some(self.pass))?.outputs.iter().cloned());
        read.extend(plan.labels.clone());
        let step = format!("finish {} as {}", plan.name, self.extension);
        Ok(Stage::new(&session.layout, &session.plan.file.digest, step, files.manifest.clone(), read))
    }

    /// The subject's transforms to the last template, or all of it if it was done before.
    fn read(&self, subject: usize) -> Result<Passing, CliError> {
        let (session, plan) = (self.session, self.session.subject(subject));
        let files = session.layout.subject(&plan.name, self.extension);
        if let Some(manifest) = self.stage(subject, &files)?.done() {
            let path = files.manifest.clone();
            let results =
                serde_json::from_value(manifest.results.clone()).map_err(|source| Error::Json { path, source })?;
            let warp = DisplacementField { grid: self.shape.grid.clone(), ..itk::read_warp(&files.warp)? };
            let labels = plan.labels.as_ref().map(|_| nifti::read_labels(&files.labels)).transpose()?;
            let grid = &self.shape.grid;
            let image =
                |path| -> Result<Volume, CliError> { Ok(Volume { grid: grid.clone(), ..nifti::read_volume(path)? }) };
            let warped = files.warped.iter().map(|path| image(path)).collect::<Result<Vec<_>, CliError>>()?;
            let picture = slices::data_address(&warped[0])?;
            return Ok(Passing::Done(Box::new(Carried { manifest, results, warp, warped, labels, picture })));
        }
        let Contribution { affine, warp, .. } =
            Contribution::read_transforms(session, self.pass, subject, &self.before)?;
        let warp = warp.unwrap_or_else(|| DisplacementField::zeros(self.shape.grid.clone()));
        let (affine, warp) = from_new_template(&affine, &warp, &self.stretch, &self.shape).map_err(Error::Carry)?;
        Ok(Passing::Forward { affine, warp })
    }

    /// Writes the subject's transforms, images and labels.
    fn write(&self, subject: usize, passing: Passing) -> Result<Carried, CliError> {
        let (affine, warp, inverse_warp, inverse_misses_voxels) = match passing {
            Passing::Done(carried) => return Ok(*carried),
            Passing::Both { affine, warp, inverse, misses } => (affine, warp, inverse, misses),
            Passing::Forward { affine, warp } => {
                (affine, warp.clone(), DisplacementField::zeros(warp.grid), f64::NAN)
            }
        };
        let (session, plan) = (self.session, self.session.subject(subject));
        let files = session.layout.subject(&plan.name, self.extension);
        let stage = self.stage(subject, &files)?;
        let images = session.images(subject)?;
        let grid = &self.template.images[0].grid;
        let centre = self.template.images[0].centre_of_mass().unwrap_or_else(|| grid.centre());
        itk::write_affine(&files.affine, &affine, centre)?;
        itk::write_warp(&files.warp, &warp)?;
        itk::write_warp(&files.inverse_warp, &inverse_warp)?;
        drop(inverse_warp);
        let mut outputs: Vec<&Path> = vec![&files.affine, &files.warp, &files.inverse_warp];
        let chain = TransformChain::from(vec![Transform::Displacement(warp), Transform::Affine(affine)]);
        let how = session.plan.args.interpolation;
        let mut warped = Vec::with_capacity(images.len());
        for (image, path) in images.iter().zip(&files.warped) {
            let image = apply::resample(image, grid, &chain, how.into(), 0.0);
            nifti::write_volume(path, &image)?;
            outputs.push(path);
            warped.push(image);
        }
        let correlation = compare::correlation(&self.template.images[0], &warped[0], Some(&self.template.mask))?;
        let picture = slices::data_address(&warped[0])?;
        let labels = match &plan.labels {
            None => None,
            Some(file) => {
                let labels = inputs::labels_of(&file.path, &plan.images[0].path, &images[0].grid)?;
                let carried = apply::resample_labels(&labels, grid, &chain, apply::LabelInterpolation::GenericLabel);
                nifti::write_labels(&files.labels, &carried)?;
                outputs.push(&files.labels);
                Some(carried)
            }
        };
        let warp = displacement(chain).unwrap_or_else(|| DisplacementField::zeros(grid.clone()));
        let warp_mean_voxels = Movement::of(&warp, &self.template.mask)?.mean_voxels;
        let results = SubjectResults { correlation, warp_mean_voxels, inverse_misses_voxels };
        let manifest = stage.finish(None, &outputs, &results)?;
        Ok(Carried { manifest, results, warp, warped, labels, picture })
    }
}

/// Figures of every pass up to the last.
fn passes(session: &Session, last: usize) -> Result<Vec<TemplateResults>, CliError> {
    let figures = |pass| {
        let path = session.layout.template(Some(pass)).manifest;
        let results = session.template(Some(pass))?.results.clone();
        Ok(serde_json::from_value(results).map_err(|source| Error::Json { path, source })?)
    };
    (session.plan.file.first_pass..=last).map(figures).collect()
}

/// Writes the page and the table.
fn report(
    session: &Session,
    passes: &[TemplateResults],
    last: &Volume,
    subjects: Vec<Row>,
    mean: f64,
) -> Result<(), CliError> {
    let mut templates = Vec::new();
    for (title, pass) in std::iter::once(("before all passes".to_owned(), None))
        .chain(passes.iter().map(|results| (format!("after pass {}", results.pass), Some(results.pass))))
    {
        let picture = slices::data_address(&nifti::read_volume(&session.layout.template(pass).images[0])?)?;
        templates.push(Row { title, note: String::new(), picture });
    }
    let (title, note) = ("handed out".into(), "the subjects' mean, each read once through all its transforms".into());
    templates.push(Row { title, note, picture: slices::data_address(last)? });
    let contents = Contents {
        templates,
        subjects,
        passes,
        chart: chart::convergence(passes)?,
        left_out: session.plan.file.subjects.iter().filter_map(|subject| subject.complaint()).collect(),
        mean_final_warp_voxels: mean,
    };
    let root = session.layout.root();
    manifest::write_text(&root.join("report.html"), &page::render(&contents))?;
    let mut csv = String::from(
        "Pass,MovedMeanVoxels,MovedLargestVoxels,MeanWarpVoxels,CorrelationWithBefore,SharpnessPerMm,Converged\n",
    );
    for pass in passes {
        let correlation = pass.correlation_with_before.map_or(String::new(), |value| value.to_string());
        csv.push_str(&format!(
            "{},{},{},{},{correlation},{},{}\n",
            pass.pass,
            pass.moved_mean_voxels,
            pass.moved_largest_voxels,
            pass.mean_warp_voxels,
            pass.sharpness_per_mm,
            pass.converged
        ));
    }
    manifest::write_text(&root.join("convergence.csv"), &csv)
}
