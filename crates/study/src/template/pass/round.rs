//! The registrations of a pass and the average of their results, while files are written in the background.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use antsreg_pool::{DeviceWorkers, Pause, StageThreads, Target, Worker, WriteQueue};

use crate::Error;
use crate::template::Error as TemplateError;
use crate::template::average::{self, AverageToWrite, correlation_of, outliers};
use crate::template::channels::Channels;
use crate::template::contribution::{Contribution, Contributions};
use crate::template::manifest::Manifest;
use crate::template::means::{RunningMeans, fit};
use crate::template::progress::{Registered, TemplateProgress};
use crate::template::reference::Reference;
use crate::template::register_one::{self, RegisteredSubject};
use crate::template::session::Session;

/// The inputs of a pass that is being run.
pub struct Round<'a, 'b> {
    pub session: &'a Session,
    pub pass: usize,
    /// The template to which subjects are registered.
    pub reference: &'b Reference,
    /// The template as the fixed side (one image for each channel) of the registrations.
    pub target: &'b Arc<Target>,
    /// Whether an earlier run may have done part of the pass.
    pub resumed: bool,
    pub queue: &'b WriteQueue<'a, Error>,
}

/// A subject that was registered by an earlier run.
type EarlierRegistration = Box<(Manifest, Contribution)>;

/// A subject whose files have been read for a pass.
enum Loaded {
    /// The images of a subject that is not registered yet.
    Images(Arc<Channels>),
    /// The registration of a subject by an earlier run.
    Before(EarlierRegistration),
}

/// A subject that has been registered and resampled on the template's grid.
enum Found {
    /// A subject that this run has registered, and the seconds that the device took for the registration.
    Now(RegisteredSubject, f64),
    /// A subject that an earlier run has registered.
    Before(EarlierRegistration),
}

impl<'a, 'b> Round<'a, 'b> {
    /// Registers all subjects and averages them. Also returns the contributions of the subjects, if they fit in
    /// memory. When nearly all subjects are done, writing of queued files is paused, so that the CPU finishes the
    /// sums early and the devices need not wait for them.
    pub fn average(
        &self,
        workers: &mut DeviceWorkers,
        progress: &mut dyn TemplateProgress,
        pause: &mut Option<Pause<'b, 'a, Error>>,
    ) -> Result<(AverageToWrite, Option<Contributions>), Error> {
        let (session, pass) = (self.session, self.pass);
        let mut kept = fit(session.included.len(), self.reference, !session.is_affine(pass)).then(Vec::new);
        let mut correlations = Vec::new();
        let means_so_far = || RunningMeans::new(average::averaging(session, pass), self.reference, kept.is_some());
        // The affine pass leaves out outliers, which are known only when all subjects have been registered. So the
        // affine pass does not sum up subjects while others are being registered.
        let mut means_so_far = (!session.is_affine(pass)).then(means_so_far);
        let pause = kept.is_some().then_some(pause);
        self.register_all(workers, progress, pause, |contribution, correlation, is_near_end| {
            correlations.push(correlation.unwrap_or(-1.0));
            kept.iter_mut().for_each(|kept| kept.push(contribution.clone()));
            means_so_far
                .iter_mut()
                .try_for_each(|means_so_far| means_so_far.add(contribution.clone(), is_near_end))?;
            Ok(())
        })?;
        let outliers = match session.is_affine(pass) {
            true => outliers(session, &correlations),
            false => Vec::new(),
        };
        let summed = match (means_so_far, &kept) {
            (Some(means_so_far), _) => AverageToWrite::of(session, pass, means_so_far.finish()?, &[])?,
            (None, Some(kept)) => average::of_contributions(session, pass, self.reference, kept, &outliers)?,
            (None, None) => {
                self.queue.settle()?;
                average::from_files(session, pass, self.reference)?
            }
        };
        Ok((summed, kept))
    }

    /// Registers the subjects that have not been registered yet. `next` is called for each subject, in the order of
    /// the subjects. `next` receives the subject's contribution to the average, the subject's correlation with the
    /// template, and whether nearly all subjects are done.
    fn register_all(
        &self,
        workers: &mut DeviceWorkers,
        progress: &mut dyn TemplateProgress,
        mut pause: Option<&mut Option<Pause<'b, 'a, Error>>>,
        mut next: impl FnMut(Arc<Contribution>, Option<f64>, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Round { session, pass, reference, target, queue, .. } = *self;
        let all = session.included.len();
        let read = |job: usize| (job, self.load(session.included[job]));
        let compute = |worker: &mut Worker, (job, loaded): (usize, Result<Loaded, Error>)| {
            let began = Instant::now();
            let computed = loaded.and_then(|loaded| match loaded {
                Loaded::Before(found) => Ok(Err(found)),
                Loaded::Images(images) => {
                    let (subject, fixed) = (session.included[job], (reference, target));
                    let computed = register_one::compute(worker, session, pass, subject, fixed, &images)?;
                    Ok(Ok((computed, began.elapsed().as_secs_f64())))
                }
            });
            (job, computed)
        };
        let bring = |(job, computed): (usize, Result<Result<_, _>, Error>)| {
            let brought = computed.and_then(|computed| match computed {
                Err(found) => Ok(Found::Before(found)),
                Ok((computed, seconds)) => Ok(Found::Now(register_one::measure(reference, computed)?, seconds)),
            });
            (job, brought)
        };
        let (threads, notes) = (StageThreads::for_workers(workers.workers()), workers.notes());
        let (mut waiting, mut following, mut done, mut failed) = (BTreeMap::new(), 0, 0, None);
        let mut take = |job: usize, found: Found| -> Result<(), Error> {
            done += 1;
            // Near the end of a pass, all subjects have been read. The devices soon have no registrations left, and
            // then wait until the subjects have been averaged.
            let is_near_end = done + threads.readers > all;
            if let Some(pause) = pause.as_mut().filter(|_| is_near_end) {
                pause.get_or_insert_with(|| queue.pause());
            }
            let subject = session.included[job];
            let (contribution, correlation, seconds) = match found {
                Found::Before(found) => {
                    let (manifest, contribution) = *found;
                    (Arc::new(contribution), correlation_of(session, pass, subject, &manifest)?, None)
                }
                Found::Now(brought, seconds) => {
                    let (contribution, correlation) = (brought.contribution.clone(), brought.results.correlation);
                    let about = move |reason| about(session, pass, subject, reason);
                    queue.push(move || {
                        let record = register_one::write(session, pass, subject, &brought).map_err(about)?;
                        Ok(move || record().map(drop).map_err(about))
                    });
                    (contribution, correlation, Some(seconds))
                }
            };
            notes.try_iter().for_each(|note| progress.device(&note));
            let subject = &session.subject(subject).name;
            progress.registered(&Registered { pass, done, all, subject, correlation, seconds });
            waiting.insert(job, (contribution, correlation));
            while let Some((contribution, correlation)) = waiting.remove(&following) {
                next(contribution, correlation, is_near_end)?;
                following += 1;
            }
            Ok(())
        };
        workers.run((0..all).collect(), threads, read, compute, bring, |(job, found)| {
            let about = |reason| about(session, pass, session.included[job], reason);
            if let Err(error) = found.map_err(about).and_then(|found| take(job, found)) {
                failed.get_or_insert(error);
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Reads a subject's images. If an earlier run registered the subject, reads its transforms and resampled images
    /// instead.
    fn load(&self, subject: usize) -> Result<Loaded, Error> {
        let (session, pass) = (self.session, self.pass);
        if self.resumed
            && let Some(manifest) = session.register_stage(pass, subject)?.done()?
        {
            let contribution = Contribution::read(session, pass, subject, &self.reference.images[0].grid)?;
            return Ok(Loaded::Before(Box::new((manifest, contribution))));
        }
        Ok(Loaded::Images(session.images(subject)?))
    }
}

/// Adds the number of the pass and the name of the subject to an error. The other subjects are finished, so that a
/// second run only has to register this subject.
fn about(session: &Session, pass: usize, subject: usize, reason: Error) -> Error {
    let subject = session.subject(subject).name.clone();
    TemplateError::Subject { pass, subject, reason: Box::new(reason) }.into()
}
