//! What is handed out: the template, every subject's transforms to it, and labels.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape. What is handed
//! out is made without that blur: each subject is read once, through its transforms and the last update together, and
//! these are averaged. So the template is just what the transforms that lie beside it make of the subjects.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_cohort::template::{
    Averaging, Coverage, ImageMean, Movement, WarpMean, from_new_template, likeness, sharpen, sharpness,
};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::{InverseConsistency, InversionLimits, apply};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

use super::content::{Content, write_all};
use super::layout::SubjectFiles;
use super::manifest::{self, Manifest, Stage};
use super::page::Row;
use super::pass::Done;
use super::register_one::{Contribution, displacement, read_through};
use super::session::{Session, Template};
use super::start::make_folder;
use super::{Error, average, labels, report, slices};
use crate::cohort::{Backlog, Crew, Engine, run_at};
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
    /// How far the warp's inverse misses there, at most.
    inverse_misses_voxels: f64,
}

/// Figures of the atlas.
#[derive(Debug, Serialize)]
struct AtlasResults {
    /// The last pass.
    pass: usize,
    /// Mean gradient magnitude per mm over the mean intensity, both where at least half of the subjects have brain.
    sharpness_per_mm: f64,
    /// Length of the mean of all final warps in the foreground: 0 for a template without bias.
    mean_final_warp_voxels: f64,
    /// That over the same of the average of all subjects after their affine registrations, if there is one.
    sharper_than_affine_average: Option<f64>,
}

/// What the subjects' transforms to the last template are made from.
struct Carrying<'a> {
    session: &'a Session,
    pass: usize,
    extension: &'static str,
    last: Last<'a>,
}

/// The last pass.
struct Last<'a> {
    template: Arc<Template>,
    stretch: AffineTransform,
    shape: Cow<'a, DisplacementField>,
    /// What was found of the subjects, if this run has done it and there is memory for it.
    contributions: Option<&'a [Arc<Contribution>]>,
    /// Whether an earlier run may have handed out some of it.
    resumed: bool,
}

/// A subject on the last template.
struct Carried {
    /// About which the affine is written.
    centre: Point3<f64>,
    affine: AffineTransform,
    warp: DisplacementField,
    warped: Vec<Volume>,
    labels: Option<LabelVolume>,
    results: SubjectResults,
    picture: String,
}

/// A subject, and its transforms to the last template.
struct Forward {
    affine: AffineTransform,
    warp: DisplacementField,
    images: Arc<Vec<Volume>>,
}

/// A subject on its way, or all of it if it was done before.
type Passing<There> = Result<There, Box<Carried>>;

/// What a device makes of it.
struct There {
    affine: AffineTransform,
    /// Last template → subject, and back.
    chain: TransformChain,
    inverse: DisplacementField,
    /// How far the two miss each other.
    missed: InverseConsistency,
    images: Arc<Vec<Volume>>,
    warped: Vec<Volume>,
}

/// A subject that has arrived, and the inverse of its warp if that is not written yet.
struct Arrived {
    carried: Arc<Carried>,
    to_write: Option<DisplacementField>,
}

impl Forward {
    /// Finds the way back, and brings the images there.
    fn bring(self, engine: &mut Engine, carrying: &Carrying) -> Result<There, CliError> {
        let Forward { affine, warp, images } = self;
        let (inverse, missed) = engine.invert(&warp, &INVERSION, &carrying.last.template.mask)?;
        let chain = TransformChain::from(vec![Transform::Displacement(warp), Transform::Affine(affine)]);
        let (grid, how) = (&carrying.last.template.images[0].grid, carrying.session.plan.args.interpolation);
        let warped = read_through(engine, &images, grid, &chain, how)?;
        Ok(There { affine, chain, inverse, missed, images, warped })
    }
}

/// Hands out what is not there yet. `last` is the last pass, if this run has done it.
pub fn run<'a>(
    session: &'a Session,
    engines: &mut [Engine],
    last: Option<&Done>,
    backlog: &Backlog<'a>,
    console: &mut Console,
) -> Result<(), CliError> {
    let (pass, last) = match last {
        Some(done) => (done.updated.results.pass, Last::of(done)),
        None => {
            let pass = session.final_pass()?;
            (pass, Last::read(session, pass)?)
        }
    };
    let extension = session.plan.args.format.extension();
    let carrying = Carrying { session, pass, extension, last };
    make_folder(&session.layout.subjects())?;
    let mut sums = Sums::new(&carrying.last, session.plan.args.average.into());
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    let mut take = |job: usize, arrived: Arrived| -> Result<(), CliError> {
        let Arrived { carried, to_write } = arrived;
        if let Some(inverse_warp) = to_write {
            let (carried, subject) = (carried.clone(), session.included[job]);
            backlog.push(move || {
                let record = write(session, pass, subject, extension, &carried, &inverse_warp)?;
                Ok(move || record().map(drop))
            });
        }
        waiting.insert(job, carried);
        while let Some(carried) = waiting.remove(&next) {
            sums.add(&session.subject(session.included[next]).name, &carried)?;
            next += 1;
        }
        Ok(())
    };
    let read = |job: usize| (job, carrying.read(job));
    let compute = |engine: &mut &mut Engine, (job, read): (usize, Result<Passing<Forward>, CliError>)| {
        let brought = read.and_then(|passing| match passing {
            Ok(forward) => forward.bring(engine, &carrying).map(Ok),
            Err(carried) => Ok(Err(carried)),
        });
        (job, brought)
    };
    let judge = |(job, brought): (usize, Result<Passing<There>, CliError>)| {
        (job, brought.and_then(|brought| carrying.judge(session.included[job], brought)))
    };
    let mut failed = None;
    let (jobs, crew) = ((0..session.included.len()).collect(), Crew::for_workers(engines.len()));
    let workers = engines.iter_mut().collect();
    run_at(
        |engine: &&mut Engine| engine.place(),
        jobs,
        crew,
        workers,
        read,
        compute,
        judge,
        |(job, arrived)| {
            if let Err(error) = arrived.and_then(|arrived| take(job, arrived)) {
                failed.get_or_insert(error);
            }
        },
    );
    failed.map_or(Ok(()), Err)?;
    let template = carrying.last.template;
    sums.finish(session, pass, &template, backlog, console)
}

/// What the subjects on the last template add up to.
struct Sums {
    mean: WarpMean,
    images: Vec<ImageMean>,
    coverage: Coverage,
    rows: Vec<Row>,
    maps: Vec<LabelVolume>,
}

impl Sums {
    fn new(last: &Last, averaging: Averaging) -> Sums {
        let grid = &last.shape.grid;
        Sums {
            mean: WarpMean::new(grid),
            images: last.template.images.iter().map(|_| ImageMean::new(grid, averaging)).collect(),
            coverage: Coverage::new(grid),
            rows: Vec::new(),
            maps: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, carried: &Carried) -> Result<(), CliError> {
        let Carried { results, warp, warped, labels, picture, .. } = carried;
        self.mean.add(warp)?;
        for (mean, image) in self.images.iter_mut().zip(warped) {
            mean.add(image)?;
        }
        self.coverage.add(&warped[0])?;
        self.maps.extend(labels.clone());
        let note = format!(
            "correlation {:.4}, warp {:.2} voxels",
            results.correlation.unwrap_or(f64::NAN),
            results.warp_mean_voxels
        );
        self.rows.push(Row { title: name.into(), note, picture: picture.clone() });
        Ok(())
    }

    /// Writes the template, its labels and the report, once all else is written.
    fn finish(
        self,
        session: &Session,
        pass: usize,
        template: &Template,
        backlog: &Backlog,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let extension = session.plan.args.format.extension();
        let mean_final_warp_voxels = Movement::of(&self.mean.finish(), &template.mask)?.mean_voxels;
        let images = self.images.into_iter().map(ImageMean::finish);
        let images: Vec<Volume> =
            images.map(|image| if session.plan.args.sharpen { sharpen(&image) } else { image }).collect();
        let sharpness_per_mm = sharpness(&images[0], &self.coverage.half())?;
        backlog.settle()?;
        let mut inputs = session.template(Some(pass))?.outputs.clone();
        for &subject in &session.included {
            let files = session.layout.subject(&session.subject(subject).name, extension);
            inputs.extend(manifest::read::<Manifest>(&files.manifest)?.outputs);
        }
        let stage = Stage::new(
            &session.layout,
            &session.plan.file.digest,
            format!("finish as {extension}"),
            session.layout.root().join("template.json"),
            inputs,
        );
        let templates = session.layout.result(extension);
        let maps = if self.maps.is_empty() { Vec::new() } else { labels::write(session, self.maps, extension)? };
        let passes = report::passes(session, pass)?;
        report::write(session, &passes, &images[0], self.rows, mean_final_warp_voxels)?;
        let sharper_than_affine_average = match session.plan.file.first_pass {
            0 => Some(sharpness_per_mm / average::sharpness_of(session, 0)?),
            _ => None,
        };
        let results = AtlasResults { pass, sharpness_per_mm, mean_final_warp_voxels, sharper_than_affine_average };
        let templates = templates.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image));
        let outputs: Vec<_> = templates.chain(maps.iter().map(|map| (map.as_path(), Content::Written))).collect();
        stage.finish(None, write_all(&session.layout, &outputs)?, results)?;
        console.note(format_args!("mean of the final warps: {mean_final_warp_voxels:.4} voxels"));
        if let Some(sharper) = sharper_than_affine_average {
            console.note(format_args!("{sharper:.2} times as sharp as the affine average"));
        }
        Ok(())
    }
}

impl<'a> Last<'a> {
    /// From memory.
    fn of(done: &'a Done) -> Last<'a> {
        Last {
            template: done.updated.template.clone(),
            stretch: done.stretch,
            shape: Cow::Borrowed(&done.updated.shape),
            contributions: done.contributions.as_deref(),
            resumed: false,
        }
    }

    /// From the files of a pass.
    fn read(session: &Session, pass: usize) -> Result<Last<'a>, CliError> {
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
fn write<'a>(
    session: &'a Session,
    pass: usize,
    subject: usize,
    extension: &'static str,
    carried: &Carried,
    inverse_warp: &DisplacementField,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    let files = session.layout.subject(&session.subject(subject).name, extension);
    let Carried { centre, affine, warp, warped, labels, results, .. } = carried;
    itk::write_affine(&files.affine, affine, *centre)?;
    let mut outputs: Vec<(&Path, Content)> = vec![
        (&files.affine, Content::Written),
        (&files.warp, Content::Warp(warp)),
        (&files.inverse_warp, Content::Warp(inverse_warp)),
    ];
    for (image, path) in warped.iter().zip(&files.warped) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.extend(labels.as_ref().map(|labels| (files.labels.as_path(), Content::Labels(labels))));
    let (written, results) = (write_all(&session.layout, &outputs)?, results.clone());
    Ok(move || stage(session, pass, subject, extension, &files)?.finish(None, written, results))
}

impl Carrying<'_> {
    /// A subject and its transforms to the last template, or all of it if it was done before.
    fn read(&self, job: usize) -> Result<Passing<Forward>, CliError> {
        let Carrying { session, pass, last, .. } = self;
        let subject = session.included[job];
        if last.resumed
            && let Some(carried) = self.done_before(subject)?
        {
            return Ok(Err(Box::new(carried)));
        }
        let grid = &last.shape.grid;
        let zero = || DisplacementField::zeros(grid.clone());
        let (affine, warp) = match last.contributions {
            Some(all) => {
                let Contribution { affine, warp, .. } = all[job].as_ref();
                let warp = warp.as_ref().map_or_else(|| Cow::Owned(zero()), Cow::Borrowed);
                from_new_template(affine, &warp, &last.stretch, &last.shape)
            }
            None => {
                let Contribution { affine, warp, .. } = Contribution::read_transforms(session, *pass, subject, grid)?;
                from_new_template(&affine, &warp.unwrap_or_else(zero), &last.stretch, &last.shape)
            }
        }
        .map_err(Error::Carry)?;
        Ok(Ok(Forward { affine, warp, images: session.images(subject)? }))
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
        Ok(Some(Carried {
            centre: last.template.centre,
            affine: itk::read_affine(&files.affine)?,
            warp: DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? },
            picture: slices::data_address(&warped[0])?,
            labels: plan.labels.as_ref().map(|_| nifti::read_labels(&files.labels)).transpose()?,
            warped,
            results,
        }))
    }

    /// The subject's labels on the last template, and how well it fits.
    fn judge(&self, subject: usize, brought: Passing<There>) -> Result<Arrived, CliError> {
        let There { affine, chain, inverse: inverse_warp, missed, images, warped } = match brought {
            Ok(there) => there,
            Err(carried) => return Ok(Arrived { carried: Arc::new(*carried), to_write: None }),
        };
        let (plan, template) = (self.session.subject(subject), &self.last.template);
        let grid = &template.images[0].grid;
        let labels = match &plan.labels {
            None => None,
            Some(file) => {
                let labels = inputs::labels_of(&file.path, &plan.images[0].path, &images[0].grid)?;
                Some(apply::resample_labels(&labels, grid, &chain, apply::LabelInterpolation::GenericLabel))
            }
        };
        let warp = displacement(chain).unwrap_or_else(|| DisplacementField::zeros(grid.clone()));
        let results = SubjectResults {
            correlation: likeness(&template.images[0], &warped[0], &template.mask)?,
            warp_mean_voxels: Movement::of(&warp, &template.mask)?.mean_voxels,
            inverse_misses_voxels: missed.largest_voxels,
        };
        let picture = slices::data_address(&warped[0])?;
        let carried = Carried { centre: template.centre, affine, warp, warped, labels, results, picture };
        Ok(Arrived { carried: Arc::new(carried), to_write: Some(inverse_warp) })
    }
}
