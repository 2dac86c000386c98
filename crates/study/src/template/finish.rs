//! The final step: writes the final template, every subject's transforms to it, and labels.
//!
//! The template of the last pass is an average that was resampled once more to move it to the mean shape, which blurs
//! it. The final template is made without that blur: each subject is resampled once, through its transforms and the
//! last update together, and the results are averaged. So the final template is exactly the average of the subjects
//! under the final transforms.

use std::collections::BTreeMap;

use antsreg_core::io::outputs;
use antsreg_pool::{DeviceWorkers, StageThreads, Worker, WriteQueue};

use super::final_average::FinalAverage;
use super::final_pass::FinalPass;
use super::final_subject::{FinishedSubject, OrDoneBefore};
use super::onto_final::{MovedSubject, SubjectToMove};
use super::pass::FinishedPass;
use super::progress::TemplateProgress;
use super::session::Session;
use crate::Error;

/// Writes the final files that do not exist yet. `last` is the last pass, if this run has done the pass.
///
/// # Errors
/// A file that cannot be read or written; a device that fails.
pub fn run<'a>(
    session: &'a Session,
    mut workers: DeviceWorkers,
    last: Option<&FinishedPass>,
    queue: &WriteQueue<'a, Error>,
    progress: &mut dyn TemplateProgress,
) -> Result<(), Error> {
    let final_pass = match last {
        Some(done) => FinalPass::of(session, done),
        None => FinalPass::read(session, session.final_pass()?)?,
    };
    let pass = final_pass.pass;
    outputs::make_folder(&session.layout.subjects())?;
    let mut sums = FinalAverage::new(&final_pass);
    // The final step uses only one device: files and memory bandwidth limit its speed. So further devices would not
    // help, and the driver would take long to release them.
    let workers = workers.last_device();
    let (all, threads) = (session.included.len(), StageThreads::for_workers(workers.idle()));
    let (mut waiting, mut next, mut arrived) = (BTreeMap::new(), 0, 0);
    let mut take = |job: usize, subject: FinishedSubject| -> Result<(), Error> {
        let FinishedSubject { final_subject, to_write } = subject;
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
    let read = |job: usize| (job, final_pass.read_subject(job));
    let compute = |worker: &mut Worker, (job, read): (usize, Result<OrDoneBefore<SubjectToMove>, Error>)| {
        let moved = read.and_then(|subject| match subject {
            Ok(subject) => subject.run(worker, &final_pass).map(Ok),
            Err(before) => Ok(Err(before)),
        });
        (job, moved)
    };
    let measure = |(job, moved): (usize, Result<OrDoneBefore<MovedSubject>, Error>)| {
        (job, moved.and_then(|moved| final_pass.measure_subject(session.included[job], moved)))
    };
    let mut failed = None;
    workers.run((0..all).collect(), threads, read, compute, measure, |(job, arrived)| {
        if let Err(error) = arrived.and_then(|arrived| take(job, arrived)) {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    progress.finished(&sums.finish(queue)?);
    Ok(())
}
