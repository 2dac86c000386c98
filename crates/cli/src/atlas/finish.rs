//! What is handed out: the template, every subject's transforms to it, and labels.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape. What is handed
//! out is made without that blur: each subject is read once, through its transforms and the last update together, and
//! these are averaged. So the template is just what the transforms that lie beside it make of the subjects.

use std::collections::BTreeMap;
use std::path::PathBuf;

use antsreg_cohort::template::{Movement, sharpen, sharpness};
use antsreg_core::{LabelVolume, Volume};
use antsreg_pool::{StageThreads, WriteQueue};
use antsreg_study::template::{Manifest, Stage, read_json};
use serde::Serialize;

use super::carry::{self, Arrived, Carried, Carrying, Last, Passing};
use super::content::{Content, write_all};
use super::forward::{Forward, There};
use super::gather::{Gathering, Means, fit};
use super::page::Row;
use super::pass::Done;
use super::session::{Drawn, Session};
use super::start::make_folder;
use super::{average, labels, report, slices};
use crate::cohort::{Engine, Engines};
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
    mut engines: Engines,
    last: Option<&Done>,
    queue: &WriteQueue<'a, CliError>,
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
    let mut sums = Sums::new(session, &carrying.last);
    // One device: files and the processor's memory are what bounds this, however many devices share them, and a driver takes
    // longer to let go of two than files take to be written.
    let engines = engines.last_device();
    let (all, stage_threads) = (session.included.len(), StageThreads::for_workers(engines.there()));
    let (mut waiting, mut next, mut arrived) = (BTreeMap::new(), 0, 0);
    let mut take = |job: usize, there: Arrived| -> Result<(), CliError> {
        let Arrived { carried, to_write } = there;
        arrived += 1;
        if let Some(inverse_warp) = to_write {
            let (carried, subject) = (carried.clone(), session.included[job]);
            queue.push(move || {
                let record = carry::write(session, pass, subject, extension, &carried, &inverse_warp)?;
                Ok(move || record().map(drop))
            });
        }
        waiting.insert(job, carried);
        while let Some(carried) = waiting.remove(&next) {
            sums.add(&carried, arrived + stage_threads.readers > all)?;
            next += 1;
        }
        Ok(())
    };
    let read = |job: usize| (job, carrying.read(job));
    let compute = |engine: &mut Engine, (job, read): (usize, Result<Passing<Forward>, CliError>)| {
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
    engines.run((0..all).collect(), stage_threads, read, compute, judge, |(job, arrived)| {
        if let Err(error) = arrived.and_then(|arrived| take(job, arrived)) {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    sums.finish(session, pass, queue, console)
}

/// What the subjects on the last template add up to.
struct Sums<'a> {
    last: &'a Last<'a>,
    gathering: Gathering<'a>,
    /// Figures of each, for the report.
    notes: Vec<String>,
    maps: Vec<LabelVolume>,
}

impl<'a> Sums<'a> {
    fn new(session: &Session, last: &'a Last) -> Sums<'a> {
        let memory = fit(session.included.len(), &last.template, true);
        let gathering = Gathering::new(session.plan.args.average.into(), &last.template, memory);
        Sums { last, gathering, notes: Vec::new(), maps: Vec::new() }
    }

    fn add(&mut self, carried: &Carried, is_near_end: bool) -> Result<(), CliError> {
        let Carried { results, contribution, labels, .. } = carried;
        self.gathering.add(contribution.clone(), is_near_end)?;
        self.maps.extend(labels.clone());
        self.notes.push(format!(
            "correlation {:.4}, warp {:.2} voxels",
            results.correlation.unwrap_or(f64::NAN),
            results.warp_mean_voxels
        ));
        Ok(())
    }

    /// Writes the template and its labels while the subjects are written, the report and the record after that.
    fn finish(
        self,
        session: &Session,
        pass: usize,
        queue: &WriteQueue<CliError>,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let extension = session.plan.args.format.extension();
        let Means { images, warp, brain, .. } = self.gathering.finish()?;
        let moved = warp.map(|warp| Movement::of(&warp, &self.last.template.mask)).transpose()?;
        let mean_final_warp_voxels = moved.map_or(0.0, |moved| moved.mean_voxels);
        let images: Vec<Volume> =
            images.into_iter().map(|image| if session.plan.args.sharpen { sharpen(&image) } else { image }).collect();
        let files = session.layout.result(extension);
        let files: Vec<_> = files.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image)).collect();
        let ((sharpness_per_mm, picture), written) = rayon::join(
            || rayon::join(|| sharpness(&images[0], &brain), || slices::data_address(&images[0])),
            || write_all(&session.layout, &files),
        );
        let (sharpness_per_mm, mut written) = (sharpness_per_mm?, written?);
        if !self.maps.is_empty() {
            let maps = labels::write(session, self.maps, extension)?;
            let maps: Vec<_> = maps.iter().map(|map| (map.as_path(), Content::Written)).collect();
            written.extend(write_all(&session.layout, &maps)?);
        }
        queue.settle()?;
        let mut inputs = session.template(Some(pass))?.outputs.clone();
        for &subject in &session.included {
            let files = session.layout.subject(&session.subject(subject).name, extension);
            inputs.extend(read_json::<Manifest>(&files.manifest)?.outputs);
        }
        let passes = report::passes(session, pass)?;
        let row = |(&subject, note)| -> Result<Row, CliError> {
            Ok(Row {
                title: session.subject(subject).name.clone(),
                note,
                picture: session.picture(Drawn::Subject(subject))?,
            })
        };
        let rows = session.included.iter().zip(self.notes).map(row).collect::<Result<_, _>>()?;
        report::write(session, &passes, picture?, rows, mean_final_warp_voxels)?;
        let sharper_than_affine_average = match session.plan.file.first_pass {
            0 => Some(sharpness_per_mm / average::sharpness_of(session, 0)?),
            _ => None,
        };
        let results = AtlasResults { pass, sharpness_per_mm, mean_final_warp_voxels, sharper_than_affine_average };
        let (step, place) = (format!("finish as {extension}"), session.layout.root().join("template.json"));
        Stage::new(&session.layout, &session.plan.file.digest, step, place, inputs).finish(None, written, results)?;
        console.note(format_args!("mean of the final warps: {mean_final_warp_voxels:.4} voxels"));
        if let Some(sharper) = sharper_than_affine_average {
            console.note(format_args!("{sharper:.2} times as sharp as the affine average"));
        }
        Ok(())
    }
}
