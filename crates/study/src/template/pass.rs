//! A whole pass on one machine: the registrations, on all devices, then the average and the update. Data for the next
//! pass stay in memory; files are written in the background.

mod round;

use std::sync::Arc;
use std::time::Instant;

use antsreg_core::AffineTransform;
use antsreg_pool::{DeviceWorkers, WriteQueue};
use serde::Serialize;

use super::contribution::Contributions;
use super::progress::TemplateProgress;
use super::reference::Reference;
use super::session::Session;
use super::update::{self, UpdatedTemplate};
use super::{Error as TemplateError, average, registrations};
use crate::Error;
use round::Round;

/// The outcome of one pass, which registers all subjects, averages them and updates the template.
pub enum PassOutcome {
    /// The pass is not needed, because the template has converged.
    NotNeeded,
    /// The pass was done by an earlier run.
    DoneBefore,
    /// The pass was done by this run.
    Done(Box<FinishedPass>),
}

/// Results of a pass that this run has done.
pub struct FinishedPass {
    /// The template after the pass.
    pub updated: Arc<UpdatedTemplate>,
    /// Mean of the affine transforms without rotation and shift, from the template to the subjects.
    pub stretch: AffineTransform,
    /// The contributions of the subjects to the average; `None` if they do not fit in main memory.
    pub contributions: Option<Contributions>,
    /// Wall times.
    pub seconds: PassSeconds,
}

/// Where a pass finds the template to which the subjects are registered.
#[derive(Clone, Copy)]
pub enum PreviousTemplate<'a> {
    /// The subjects are registered to a template that is read from the files of an earlier run.
    Files,
    /// The subjects are registered to the first template, which this run has made.
    First(&'a Arc<Reference>),
    /// The subjects are registered to the template of the previous pass, which this run has made.
    Done(&'a FinishedPass),
}

/// Wall times of a pass, seconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PassSeconds {
    /// Duration until all subjects were registered, resampled and added to the sums for the average.
    pub registering: f64,
    /// Duration of averaging and of updating the template, after all subjects were registered.
    pub updating: f64,
}

/// Runs the remaining steps of a pass.
///
/// # Errors
/// A subject that cannot be registered; a file that cannot be read or written.
pub fn run<'a>(
    session: &'a Session,
    workers: &mut DeviceWorkers,
    pass: usize,
    before: PreviousTemplate,
    queue: &WriteQueue<'a, Error>,
    progress: &mut dyn TemplateProgress,
) -> Result<PassOutcome, Error> {
    let began = Instant::now();
    let reference = match before {
        PreviousTemplate::Done(done) if done.updated.results.converged => return Ok(PassOutcome::NotNeeded),
        PreviousTemplate::Done(done) => done.updated.reference.clone(),
        PreviousTemplate::First(reference) => reference.clone(),
        PreviousTemplate::Files if session.converged_before(pass)?.is_some() => return Ok(PassOutcome::NotNeeded),
        PreviousTemplate::Files if is_done(session.template(Some(pass)))? => {
            progress.pass_done_before(pass);
            return Ok(PassOutcome::DoneBefore);
        }
        PreviousTemplate::Files => Arc::new(session.reference(session.before(pass))?),
    };
    let resumed = matches!(before, PreviousTemplate::Files);
    let target = registrations::target(session, pass, &reference)?;
    let round = Round { session, pass, reference: &reference, target: &target, resumed, queue };
    let mut pause = None;
    let (averaged, summed, contributions) = if resumed && is_done(session.averaged(pass))? {
        (Some(average::read(session, pass, &reference)?), None, None)
    } else {
        let (summed, contributions) = round.average(workers, progress, &mut pause)?;
        (None, Some(Arc::new(summed)), contributions)
    };
    let registering = began.elapsed().as_secs_f64();
    let averaged = averaged.as_ref().or(summed.as_deref().map(|summed| &summed.averaged));
    let Some(averaged) = averaged else { return Ok(PassOutcome::NotNeeded) };
    let read = if resumed { update::shape_before(session, pass)? } else { None };
    let last = match before {
        PreviousTemplate::Done(before) if pass > 1 => Some(&before.updated.shape),
        _ => read.as_ref(),
    };
    let updated = Arc::new(update::compute(workers.one(), session, pass, averaged, &reference, last)?);
    drop(pause);
    let seconds = PassSeconds { registering, updating: began.elapsed().as_secs_f64() - registering };
    progress.pass_done(&updated.results, began.elapsed().as_secs_f64());
    let done = FinishedPass { updated: updated.clone(), stretch: averaged.stretch, contributions, seconds };
    if let Some(summed) = summed {
        queue.push(move || {
            let record = average::write(session, pass, &summed)?;
            Ok(move || record().map(drop))
        });
    }
    queue.push(move || {
        let record = update::write(session, pass, &updated)?;
        Ok(move || record().map(drop))
    });
    queue.check()?;
    Ok(PassOutcome::Done(Box::new(done)))
}

/// Whether a step is done. `found` is the result of reading the step's manifest.
///
/// # Errors
/// Every error except [`TemplateError::NotYet`].
fn is_done<T>(found: Result<T, Error>) -> Result<bool, Error> {
    match found {
        Ok(_) => Ok(true),
        Err(Error::Template(TemplateError::NotYet { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}
