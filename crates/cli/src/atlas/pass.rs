//! A whole pass on one machine: the registrations, spread over the devices, then the average and the update. What the next
//! pass needs of it stays in memory; the files are written in the background.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::{AffineTransform, Volume};
use antsreg_pool::{Pause, StageThreads, WriteQueue};
use antsreg_study::template::Manifest;
use serde::Serialize;

use super::Error;
use super::average::{self, Summed, results_of};
use super::gather::{Gathering, fit};
use super::register_one::{self, Brought, Contribution};
use super::session::Session;
use super::template::Template;
use super::update::{self, Updated};
use crate::cohort::{Engine, Engines};
use crate::error::CliError;
use crate::progress::Console;

/// What has become of a pass.
pub enum Pass {
    /// The template no longer moves.
    NotNeeded,
    /// An earlier run had done it.
    DoneBefore,
    /// This run has.
    Done(Box<Done>),
}

/// What was found of each subject, if there is memory for all of them.
pub type Kept = Option<Vec<Arc<Contribution>>>;

/// A pass that this run has done.
pub struct Done {
    /// Its template.
    pub updated: Arc<Updated>,
    /// The mean stretch.
    pub stretch: AffineTransform,
    /// What it found of the subjects.
    pub contributions: Kept,
    /// Wall times.
    pub seconds: PassSeconds,
}

/// What goes before a pass.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    /// What an earlier run has left.
    Files,
    /// The first template, made by this run.
    First(&'a Arc<Template>),
    /// The pass before, done by this run.
    Done(&'a Done),
}

/// Wall times of a pass.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PassSeconds {
    /// Until all subjects were registered, brought to the template and added up.
    pub registering: f64,
    /// The average and the new template, after that.
    pub updating: f64,
}

/// Does what is left of a pass.
pub fn run<'a>(
    session: &'a Session,
    engines: &mut Engines,
    pass: usize,
    before: Before,
    queue: &WriteQueue<'a, CliError>,
    console: &mut Console,
) -> Result<Pass, CliError> {
    let began = Instant::now();
    let template = match before {
        Before::Done(done) if done.updated.results.converged => return Ok(Pass::NotNeeded),
        Before::Done(done) => done.updated.template.clone(),
        Before::First(template) => template.clone(),
        Before::Files if session.converged_before(pass)?.is_some() => return Ok(Pass::NotNeeded),
        Before::Files if session.template(Some(pass)).is_ok() => {
            console.note(format_args!("pass {pass}: done before"));
            return Ok(Pass::DoneBefore);
        }
        Before::Files => Arc::new(session.template_images(session.before(pass))?),
    };
    let round = Round { session, pass, template, resumed: matches!(before, Before::Files), queue };
    let mut pause = None;
    let (averaged, summed, contributions) = if round.resumed && session.averaged(pass).is_ok() {
        (Some(average::read(session, pass, &round.template)?), None, None)
    } else {
        let (summed, contributions) = round.average(engines, console, &mut pause)?;
        (None, Some(Arc::new(summed)), contributions)
    };
    let registering = began.elapsed().as_secs_f64();
    let averaged = averaged.as_ref().or(summed.as_deref().map(|summed| &summed.averaged));
    let Some(averaged) = averaged else { return Ok(Pass::NotNeeded) };
    let read = if round.resumed { update::shape_before(session, pass)? } else { None };
    let last = match before {
        Before::Done(before) if pass > 1 => Some(&before.updated.shape),
        _ => read.as_ref(),
    };
    let updated = Arc::new(update::compute(engines.one(), session, pass, averaged, &round.template, last)?);
    drop(pause);
    let seconds = PassSeconds { registering, updating: began.elapsed().as_secs_f64() - registering };
    console.note(format_args!(
        "pass {pass}: template moved by {:.3} voxels, mean warp {:.3} voxels, sharpness {:.4} / mm, {:.1} s{}",
        updated.results.moved_mean_voxels,
        updated.results.mean_warp_voxels,
        updated.results.sharpness_per_mm,
        began.elapsed().as_secs_f64(),
        if updated.results.converged { "; it no longer moves" } else { "" },
    ));
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

/// A pass under way.
struct Round<'a, 'b> {
    session: &'a Session,
    pass: usize,
    template: Arc<Template>,
    /// Whether an earlier run may have done some of it.
    resumed: bool,
    queue: &'b WriteQueue<'a, CliError>,
}

/// A subject on its way through a pass.
enum Loaded {
    /// To be registered.
    Images(Arc<Vec<Volume>>),
    /// Done by an earlier run.
    Before(Box<(Manifest, Contribution)>),
}

/// A subject brought to the template.
enum Found {
    /// Now, in so many seconds of a device.
    Now(Brought, f64),
    /// By an earlier run.
    Before(Box<(Manifest, Contribution)>),
}

impl<'a> Round<'a, '_> {
    /// Registers all and averages them; gives what was found of each, too, if there is memory for it.
    fn average<'b>(
        &'b self,
        engines: &mut Engines,
        console: &mut Console,
        pause: &mut Option<Pause<'b, 'a, CliError>>,
    ) -> Result<(Summed, Kept), CliError> {
        let (session, pass) = (self.session, self.pass);
        let mut kept = fit(session.included.len(), &self.template, !session.is_affine(pass)).then(Vec::new);
        let mut correlations = Vec::new();
        let gathering = || Gathering::new(average::averaging(session, pass), &self.template, kept.is_some());
        // Outliers of the affine pass are known only when all subjects are.
        let mut gathering = (!session.is_affine(pass)).then(gathering);
        let pause = kept.is_some().then_some(pause);
        self.register_all(engines, console, pause, |contribution, correlation, is_near_end| {
            correlations.push(correlation.unwrap_or(-1.0));
            kept.iter_mut().for_each(|kept| kept.push(contribution.clone()));
            gathering.iter_mut().try_for_each(|gathering| gathering.add(contribution.clone(), is_near_end))?;
            Ok(())
        })?;
        let outliers = match session.is_affine(pass) {
            true => average::outliers(session, &correlations),
            false => Vec::new(),
        };
        let summed = match (gathering, &kept) {
            (Some(gathering), _) => Summed::of(session, pass, gathering.finish()?, &[])?,
            (None, Some(kept)) => average::of_contributions(session, pass, &self.template, kept, &outliers)?,
            (None, None) => {
                self.queue.settle()?;
                average::from_files(session, pass, &self.template)?
            }
        };
        Ok((summed, kept))
    }

    /// Registers whoever is not registered yet, and hands all on in the order of the subjects, with their correlations and
    /// whether the end is near. Then the queue may be made to `pause`.
    fn register_all<'b>(
        &'b self,
        engines: &mut Engines,
        console: &mut Console,
        mut pause: Option<&mut Option<Pause<'b, 'a, CliError>>>,
        mut next: impl FnMut(Arc<Contribution>, Option<f64>, bool) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let Round { session, pass, template, queue, .. } = self;
        let (session, pass, all) = (*session, *pass, self.session.included.len());
        let read = |job: usize| (job, self.load(session.included[job]));
        let compute = |engine: &mut Engine, (job, loaded): (usize, Result<Loaded, CliError>)| {
            let began = Instant::now();
            let computed = loaded.and_then(|loaded| match loaded {
                Loaded::Before(found) => Ok(Err(found)),
                Loaded::Images(images) => {
                    let computed =
                        register_one::compute(engine, session, pass, session.included[job], template, &images)?;
                    Ok(Ok((computed, began.elapsed().as_secs_f64())))
                }
            });
            (job, computed)
        };
        let bring = |(job, computed): (usize, Result<Result<_, _>, CliError>)| {
            let brought = computed.and_then(|computed| match computed {
                Err(found) => Ok(Found::Before(found)),
                Ok((computed, seconds)) => {
                    let brought = register_one::judge(template, computed)?;
                    Ok(Found::Now(brought, seconds))
                }
            });
            (job, brought)
        };
        let stage_threads = StageThreads::for_workers(engines.workers());
        let (mut waiting, mut following, mut finished, mut failed) = (BTreeMap::new(), 0, 0, None);
        let mut take = |job: usize, found: Found| -> Result<(), CliError> {
            finished += 1;
            // No worker has another subject to register: the GPUs wait for what is added up next.
            let is_near_end = finished + stage_threads.readers > all;
            if let Some(pause) = pause.as_mut().filter(|_| is_near_end) {
                pause.get_or_insert_with(|| queue.pause());
            }
            let subject = session.included[job];
            let name = &session.subject(subject).name;
            let (contribution, correlation, took) = match found {
                Found::Before(found) => {
                    let (manifest, contribution) = *found;
                    let correlation = results_of(session, pass, subject, &manifest)?.correlation;
                    (Arc::new(contribution), correlation, "done before".to_owned())
                }
                Found::Now(brought, seconds) => {
                    let (contribution, correlation) = (brought.contribution.clone(), brought.results.correlation);
                    let about = move |reason| about(session, pass, subject, reason);
                    queue.push(move || {
                        let record = register_one::write(session, pass, subject, &brought).map_err(about)?;
                        Ok(move || record().map(drop).map_err(about))
                    });
                    (contribution, correlation, format!("{seconds:.2} s"))
                }
            };
            let shown = correlation.unwrap_or(f64::NAN);
            console.note(format_args!("pass {pass}: {finished} of {all}, {name}: correlation {shown:.4}, {took}"));
            waiting.insert(job, (contribution, correlation));
            while let Some((contribution, correlation)) = waiting.remove(&following) {
                next(contribution, correlation, is_near_end)?;
                following += 1;
            }
            Ok(())
        };
        engines.run((0..all).collect(), stage_threads, read, compute, bring, |(job, found)| {
            let about = |reason| about(session, pass, session.included[job], reason);
            if let Err(error) = found.map_err(about).and_then(|found| take(job, found)) {
                failed.get_or_insert(error);
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// A subject's images, or what an earlier run has made of them.
    fn load(&self, subject: usize) -> Result<Loaded, CliError> {
        let (session, pass) = (self.session, self.pass);
        if self.resumed
            && let Some(manifest) = session.register_stage(pass, subject)?.done()
        {
            let grid = &self.template.images[0].grid;
            let contribution = Contribution::read(session, pass, subject, grid)?;
            return Ok(Loaded::Before(Box::new((manifest, contribution))));
        }
        Ok(Loaded::Images(session.images(subject)?))
    }
}

/// A subject's failure. It fails for itself: the others are finished and kept, and a second run has only it to do.
fn about(session: &Session, pass: usize, subject: usize, reason: CliError) -> CliError {
    let subject = session.subject(subject).name.clone();
    Error::Subject { pass, subject, reason: Box::new(reason) }.into()
}
