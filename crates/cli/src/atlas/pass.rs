//! A whole pass on one machine: the registrations, spread over the devices, then the average and the update.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::Volume;

use super::Error;
use super::average::{self, Accumulator, results_of};
use super::manifest::Manifest;
use super::register_one::{self, Computed, Contribution};
use super::session::{Session, Template};
use super::update;
use crate::cohort::{Crew, Engine, run as pipeline_run};
use crate::error::CliError;
use crate::progress::Console;

/// Does what is left of a pass. False if it is not needed.
pub fn run(session: &Session, engines: &mut [Engine], pass: usize, console: &mut Console) -> Result<bool, CliError> {
    if session.converged_before(pass)?.is_some() {
        return Ok(false);
    }
    if session.template(Some(pass)).is_ok() {
        console.note(format_args!("pass {pass}: done before"));
        return Ok(true);
    }
    let began = Instant::now();
    let template = session.template_images(session.before(pass))?;
    let averaged = if session.averaged(pass).is_ok() {
        average::read(session, pass, &template)?
    } else if session.is_affine(pass) {
        register_all(session, engines, pass, &template, None, console)?;
        average::from_files(session, pass, &template)?
    } else {
        let mut accumulator = Accumulator::new(session, pass, &template);
        register_all(session, engines, pass, &template, Some(&mut accumulator), console)?;
        average::finish(accumulator, session, pass)?
    };
    let results = update::run(session, pass, averaged, &template)?;
    console.note(format_args!(
        "pass {pass}: template moved by {:.3} voxels, mean warp {:.3} voxels, sharpness {:.4} / mm, {:.1} s{}",
        results.moved_mean_voxels,
        results.mean_warp_voxels,
        results.sharpness_per_mm,
        began.elapsed().as_secs_f64(),
        if results.converged { "; it no longer moves" } else { "" },
    ));
    Ok(true)
}

/// Registers whoever is not registered yet, and adds all up in the order of the subjects.
fn register_all(
    session: &Session,
    engines: &mut [Engine],
    pass: usize,
    template: &Template,
    mut accumulator: Option<&mut Accumulator>,
    console: &mut Console,
) -> Result<(), CliError> {
    let adding = accumulator.is_some();
    let about = |job: usize, reason| {
        let name = session.subject(session.included[job]).name.clone();
        CliError::from(Error::Subject { pass, subject: name, reason: Box::new(reason) })
    };
    // A subject fails or passes for itself: the others are finished and kept, and a second run has only it to do.
    let read = |job: usize| {
        let loaded = || -> Result<Loaded, CliError> {
            let subject = session.included[job];
            Ok(match session.register_stage(pass, subject)?.done() {
                None => Loaded::Images(session.images(subject)?),
                Some(manifest) => {
                    let read = || Contribution::read(session, pass, subject, template);
                    Loaded::Done(manifest, adding.then(read).transpose()?.map(Box::new))
                }
            })
        };
        (job, loaded())
    };
    let compute = |engine: &mut &mut Engine, (job, loaded): (usize, Result<Loaded, CliError>)| {
        let began = Instant::now();
        let computed = loaded.and_then(|loaded| match loaded {
            Loaded::Images(images) => register_one::compute(engine, session, pass, template, images)
                .map(|found| Loaded::Computed(Box::new(found))),
            other => Ok(other),
        });
        (job, computed, began.elapsed().as_secs_f64())
    };
    let write = |(job, computed, seconds): (usize, Result<Loaded, CliError>, f64)| {
        let done = computed.and_then(|computed| match computed {
            Loaded::Computed(found) => {
                let (manifest, contribution) =
                    register_one::write(session, pass, session.included[job], template, *found)?;
                Ok(Some(Done {
                    manifest,
                    contribution: adding.then(|| Box::new(contribution)),
                    seconds: Some(seconds),
                }))
            }
            Loaded::Done(manifest, contribution) => Ok(Some(Done { manifest, contribution, seconds: None })),
            Loaded::Images(_) => Ok(None),
        });
        (job, done.map_err(|reason| about(job, reason)))
    };
    let (mut waiting, mut next, mut failed) = (BTreeMap::new(), 0, None);
    let (mut finished, all) = (0, session.included.len());
    let mut take = |job: usize, done: Done| -> Result<(), CliError> {
        let Done { manifest, contribution, seconds } = done;
        finished += 1;
        let subject = session.included[job];
        let correlation = results_of(session, pass, subject, &manifest)?.correlation.unwrap_or(f64::NAN);
        let took = seconds.map_or("done before".into(), |seconds| format!("{seconds:.2} s"));
        let name = &session.subject(subject).name;
        console.note(format_args!("pass {pass}: {finished} of {all}, {name}: correlation {correlation:.4}, {took}"));
        if let Some(accumulator) = &mut accumulator {
            waiting.insert(job, contribution);
            while let Some(contribution) = waiting.remove(&next) {
                contribution.iter().try_for_each(|contribution| accumulator.add(contribution))?;
                next += 1;
            }
        }
        Ok(())
    };
    let crew = Crew::for_workers(engines.len());
    let workers = engines.iter_mut().collect();
    pipeline_run((0..all).collect(), crew, workers, read, compute, write, |(job, done)| {
        let taken = match done {
            Ok(Some(done)) => take(job, done),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            failed.get_or_insert(error);
        }
    });
    failed.map_or(Ok(()), Err)
}

/// A subject on its way through a pass.
enum Loaded {
    /// To be registered.
    Images(Arc<Vec<Volume>>),
    /// Registered, not written.
    Computed(Box<Computed>),
    /// Done by an earlier run.
    Done(Manifest, Option<Box<Contribution>>),
}

/// A registration that is done.
struct Done {
    manifest: Manifest,
    contribution: Option<Box<Contribution>>,
    /// How long the device took; absent if it was done before.
    seconds: Option<f64>,
}
