//! What is handed out: the template, every subject's transforms to it, and labels.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape. What is handed
//! out is made without that blur: each subject is read once, through its transforms and the last update together, and
//! these are averaged. So the template is just what the transforms that lie beside it make of the subjects.

use std::collections::BTreeMap;
use std::path::PathBuf;

use antsreg_cohort::template::{Averaging, Coverage, ImageMean, Movement, WarpMean, sharpen, sharpness};
use antsreg_core::{LabelVolume, Volume};
use serde::Serialize;

use super::carry::{self, Arrived, Carried, Carrying, Last, Passing};
use super::content::{Content, write_all};
use super::forward::{Forward, There};
use super::manifest::{self, Manifest, Stage};
use super::page::Row;
use super::pass::Done;
use super::session::{Session, Template};
use super::start::make_folder;
use super::{average, labels, report};
use crate::cohort::{Backlog, Crew, Engine, run_at};
use crate::error::CliError;
use crate::progress::Console;

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
                let record = carry::write(session, pass, subject, extension, &carried, &inverse_warp)?;
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
        let Carried { results, warp, warped, brightness, labels, picture, .. } = carried;
        self.mean.add(warp)?;
        for ((mean, image), brightness) in self.images.iter_mut().zip(warped).zip(brightness) {
            mean.add(image, brightness.mean)?;
        }
        self.coverage.add(&warped[0], brightness[0].foreground)?;
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
