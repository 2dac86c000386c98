//! The final step: writes the final template, every subject's transforms to it, and labels.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape, which blurs
//! it. The final template is made without that blur: each subject is resampled once, through its transforms and the
//! last update together, and the results are averaged. So the final template is exactly the average of the subjects
//! under the final transforms.

use std::collections::BTreeMap;

use antsreg_core::io::outputs;
use antsreg_pool::{DeviceWorkers, StageThreads, Worker, WriteQueue};
use serde::Serialize;

use super::final_subject::{FinalPass, Finished, OrBefore};
use super::last::Last;
use super::onto_final::{Moved, ToMove};
use super::pass::Done;
use super::progress::TemplateProgress;
use super::session::Session;
use super::sums::Sums;
use crate::Error;

/// Statistics of the final template.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FinishResults {
    /// Number of the last pass of template building.
    pub pass: usize,
    /// Mean gradient magnitude divided by mean intensity, both where at least half of the subjects have foreground;
    /// per mm.
    pub sharpness_per_mm: f64,
    /// Length of the mean of all final warps, mean over the foreground, voxels: 0 for a template without bias.
    pub mean_final_warp_voxels: f64,
    /// The template's sharpness divided by that of the affine average; `None` without an affine average.
    pub sharper_than_affine_average: Option<f64>,
}

/// Writes the final files that do not exist yet. `last` is the last pass of template building, if this run has done the
/// pass.
///
/// # Errors
/// A file that cannot be read or written; a device that fails.
pub fn run<'a>(
    session: &'a Session,
    mut workers: DeviceWorkers,
    last: Option<&Done>,
    queue: &WriteQueue<'a, Error>,
    progress: &mut dyn TemplateProgress,
) -> Result<(), Error> {
    let (pass, last) = match last {
        Some(done) => (done.updated.results.pass, Last::of(done)),
        None => {
            let pass = session.final_pass()?;
            (pass, Last::read(session, pass)?)
        }
    };
    let final_pass = FinalPass { session, pass, last };
    outputs::make_folder(&session.layout.subjects())?;
    let mut sums = Sums::new(session, &final_pass.last);
    // The final step of template building uses only one device: files and memory bandwidth limit its speed. So further
    // devices would not help, and the driver would take long to release them.
    let workers = workers.last_device();
    let (all, threads) = (session.included.len(), StageThreads::for_workers(workers.idle()));
    let (mut waiting, mut next, mut arrived) = (BTreeMap::new(), 0, 0);
    let mut take = |job: usize, subject: Finished| -> Result<(), Error> {
        let Finished { final_subject, to_write } = subject;
        arrived += 1;
        if let Some(inverse_warp) = to_write {
            let (final_subject, subject) = (final_subject.clone(), session.included[job]);
            queue.push(move || {
                let record = final_subject.write(session, pass, subject, &inverse_warp)?;
                Ok(move || record().map(drop))
            });
        }
        waiting.insert(job, final_subject);
        while let Some(final_subject) = waiting.remove(&next) {
            sums.add(&final_subject, arrived + threads.readers > all)?;
            next += 1;
        }
        Ok(())
    };
    let read = |job: usize| (job, final_pass.read(job));
    let compute = |worker: &mut Worker, (job, read): (usize, Result<OrBefore<ToMove>, Error>)| {
        let moved = read.and_then(|subject| match subject {
            Ok(subject) => subject.run(worker, &final_pass).map(Ok),
            Err(before) => Ok(Err(before)),
        });
        (job, moved)
    };
    let judge = |(job, moved): (usize, Result<OrBefore<Moved>, Error>)| {
        (job, moved.and_then(|moved| final_pass.judge(session.included[job], moved)))
    };
    let mut failed = None;
    workers.run((0..all).collect(), threads, read, compute, judge, |(job, arrived)| {
        if let Err(error) = arrived.and_then(|arrived| take(job, arrived)) {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    progress.finished(&sums.finish(session, pass, queue)?);
    Ok(())
}
