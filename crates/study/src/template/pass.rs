//! A whole pass of template building on one machine: the registrations, on all devices, then the average and the
//! update. Data for the next pass stay in memory; files are written in the background.

mod round;

use std::sync::Arc;
use std::time::Instant;

use antsreg_core::AffineTransform;
use antsreg_pool::{DeviceWorkers, WriteQueue};
use serde::Serialize;

use super::contribution::Contribution;
use super::progress::TemplateProgress;
use super::reference::Reference;
use super::session::Session;
use super::update::{self, Updated};
use super::{Error as TemplateError, average, registrations};
use crate::Error;
use round::Round;

/// The outcome of one pass of template building, which registers all subjects, averages them and updates the template.
pub enum Pass {
    /// The pass of template building is not needed, because the template has converged.
    NotNeeded,
    /// The pass of template building was done by an earlier run.
    DoneBefore,
    /// The pass of template building was done by this run.
    Done(Box<Done>),
}

/// The transforms and resampled images of all subjects, from which a pass makes its average; `None` if they do not fit
/// in main memory.
pub type Kept = Option<Vec<Arc<Contribution>>>;

/// Results of a pass of template building that this run has done.
pub struct Done {
    /// The template after the pass of template building.
    pub updated: Arc<Updated>,
    /// Mean of the affine transforms without rotation and shift, from the template to the subjects.
    pub stretch: AffineTransform,
    /// The contributions of the subjects to the average: their transforms and resampled images.
    pub contributions: Kept,
    /// Wall times.
    pub seconds: PassSeconds,
}

/// Where a pass of template building finds the template to which the subjects are registered.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    /// The subjects are registered to a template that is read from the files of an earlier run.
    Files,
    /// The subjects are registered to the first template, which this run has made.
    First(&'a Arc<Reference>),
    /// The subjects are registered to the template of the previous pass, which this run has made.
    Done(&'a Done),
}

/// Wall times of a pass of template building, seconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PassSeconds {
    /// Duration until all subjects were registered, resampled and added to the sums for the average.
    pub registering: f64,
    /// Duration of averaging and of updating the template, after all subjects were registered.
    pub updating: f64,
}

/// Runs the remaining steps of a pass of template building.
///
/// # Errors
/// A subject that cannot be registered; a file that cannot be read or written.
pub fn run<'a>(
    session: &'a Session,
    workers: &mut DeviceWorkers,
    pass: usize,
    before: Before,
    queue: &WriteQueue<'a, Error>,
    progress: &mut dyn TemplateProgress,
) -> Result<Pass, Error> {
    let began = Instant::now();
    let reference = match before {
        Before::Done(done) if done.updated.results.converged => return Ok(Pass::NotNeeded),
        Before::Done(done) => done.updated.reference.clone(),
        Before::First(reference) => reference.clone(),
        Before::Files if session.converged_before(pass)?.is_some() => return Ok(Pass::NotNeeded),
        Before::Files if is_done(session.template(Some(pass)))? => {
            progress.pass_done_before(pass);
            return Ok(Pass::DoneBefore);
        }
        Before::Files => Arc::new(session.reference(session.before(pass))?),
    };
    let resumed = matches!(before, Before::Files);
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
    let Some(averaged) = averaged else { return Ok(Pass::NotNeeded) };
    let read = if resumed { update::shape_before(session, pass)? } else { None };
    let last = match before {
        Before::Done(before) if pass > 1 => Some(&before.updated.shape),
        _ => read.as_ref(),
    };
    let updated = Arc::new(update::compute(workers.one(), session, pass, averaged, &reference, last)?);
    drop(pause);
    let seconds = PassSeconds { registering, updating: began.elapsed().as_secs_f64() - registering };
    progress.pass_done(&updated.results, began.elapsed().as_secs_f64());
    let done = Done { updated: updated.clone(), stretch: averaged.stretch, contributions, seconds };
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
    Ok(Pass::Done(Box::new(done)))
}

/// Whether a step of template building is done. `found` is the result of reading the step's manifest (list of its files
/// and results).
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
