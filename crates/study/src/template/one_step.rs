//! Runs single steps, for workflow engines.

use antsreg_core::io::outputs;
use antsreg_pool::{self as pool, DeviceWorkers, Devices, WriteQueue};
use antsreg_register::DeviceChoice;

use super::build::background;
use super::manifest::{Manifest, Stage, results_of};
use super::progress::TemplateProgress;
use super::results::{AverageResults, RegistrationResults, TemplateResults};
use super::session::Session;
use super::{average, finish, register_one, registrations, update};
use crate::Error;

/// The outcome of a single step.
#[derive(Debug, Clone)]
pub enum Outcome<T> {
    /// This call has run the step; the value holds the step's results.
    Done(T),
    /// An earlier call has done the step, so this call did nothing.
    DoneBefore,
    /// The step is not needed, because the template stopped moving after an earlier pass.
    NotNeeded {
        /// Number of the pass after which the template stopped moving.
        after: usize,
    },
    /// The step concerns a subject that is left out of the template; the text is the reason.
    LeftOut(String),
}

impl Session {
    /// Registers one subject to the template of the previous pass, and resamples the subject on the template's grid.
    ///
    /// # Errors
    /// A pass or subject that the template's plan does not contain; a template that has not been made; a registration
    /// that fails.
    pub fn register_one(
        &self,
        pass: usize,
        subject: &str,
        device: DeviceChoice,
        progress: &mut dyn TemplateProgress,
    ) -> Result<Outcome<RegistrationResults>, Error> {
        self.check_pass(pass)?;
        let subject = self.position(subject)?;
        outputs::make_folder(&self.layout.registrations(pass))?;
        let stage = self.register_stage(pass, subject)?;
        if stage.done()?.is_some() {
            return Ok(Outcome::DoneBefore);
        }
        if let Some(reason) = &self.subject(subject).left_out {
            stage.finish(None, Vec::new(), format!("left out: {reason}"))?;
            return Ok(Outcome::LeftOut(reason.clone()));
        }
        if let Some(after) = self.converged_before(pass)? {
            return not_needed(stage, after);
        }
        let reference = self.reference(self.before(pass))?;
        let target = registrations::target(self, pass, &reference)?;
        let mut workers = self.one_worker(device, progress)?;
        let images = self.images(subject)?;
        let fixed = (&reference, &target);
        let computed = register_one::compute(workers.one(), self, pass, subject, fixed, &images)?;
        let brought = register_one::measure(&reference, computed)?;
        register_one::write(self, pass, subject, &brought)?()?;
        Ok(Outcome::Done(brought.results))
    }

    /// Averages the subjects of a pass. All subjects must have been registered.
    ///
    /// # Errors
    /// A pass that the template's plan does not contain; a subject that has not been registered.
    pub fn average(&self, pass: usize) -> Result<Outcome<AverageResults>, Error> {
        self.check_pass(pass)?;
        let stage = self.average_stage(pass)?;
        if stage.done()?.is_some() {
            return Ok(Outcome::DoneBefore);
        }
        if let Some(after) = self.converged_before(pass)? {
            return not_needed(stage, after);
        }
        let reference = self.reference(self.before(pass))?;
        let summed = average::from_files(self, pass, &reference)?;
        let manifest: Manifest = average::write(self, pass, &summed)?()?;
        Ok(Outcome::Done(results_of(&manifest, self.layout.average(pass).manifest)?))
    }

    /// Moves the average of a pass to the mean shape, which gives the template of this pass.
    ///
    /// # Errors
    /// A pass that the template's plan does not contain; an average that has not been made; a device that fails.
    pub fn update(
        &self,
        pass: usize,
        device: DeviceChoice,
        progress: &mut dyn TemplateProgress,
    ) -> Result<Outcome<TemplateResults>, Error> {
        self.check_pass(pass)?;
        let stage = self.update_stage(pass)?;
        if stage.done()?.is_some() {
            return Ok(Outcome::DoneBefore);
        }
        if let Some(after) = self.converged_before(pass)? {
            return not_needed(stage, after);
        }
        let reference = self.reference(self.before(pass))?;
        let averaged = average::read(self, pass, &reference)?;
        let last = update::shape_before(self, pass)?;
        let mut workers = self.one_worker(device, progress)?;
        let updated = update::compute(workers.one(), self, pass, &averaged, &reference, last.as_ref())?;
        update::write(self, pass, &updated)?()?;
        Ok(Outcome::Done(updated.results))
    }

    /// The final step: writes the final template with every subject's transforms, labels and the report.
    ///
    /// # Errors
    /// A pass that has not been done; a file that cannot be written; a device that fails.
    pub fn finish(
        &self,
        devices: &Devices,
        threads: usize,
        progress: &mut dyn TemplateProgress,
    ) -> Result<(), Error> {
        let (devices, note) = registrations::suitable_devices(&self.plan.recipe, devices);
        note.iter().for_each(|note| progress.device(note));
        let workers = DeviceWorkers::new(pool::open(&devices, None)?, || registrations::device_bytes(self))?;
        workers.notes().try_iter().for_each(|note| progress.device(&note));
        let (background, writers) = (background(&workers, threads)?, self.included.len());
        WriteQueue::with(writers, writers, background, |queue| finish::run(self, workers, None, queue, progress))
    }

    /// Opens `device` with a single worker, which does all computations of the step.
    fn one_worker(&self, device: DeviceChoice, progress: &mut dyn TemplateProgress) -> Result<DeviceWorkers, Error> {
        let (devices, note) = registrations::suitable_devices(&self.plan.recipe, &Devices::One(device));
        note.iter().for_each(|note| progress.device(note));
        let opening = match devices {
            Devices::One(device) => pool::open_alone(device)?,
            several => pool::open(&several, Some(1))?,
        };
        let workers = DeviceWorkers::new(opening, || registrations::device_bytes(self))?;
        workers.notes().try_iter().for_each(|note| progress.device(&note));
        Ok(workers)
    }
}

fn not_needed<T>(stage: Stage, after: usize) -> Result<Outcome<T>, Error> {
    stage.skip(after)?;
    Ok(Outcome::NotNeeded { after })
}
