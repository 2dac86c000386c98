//! The fixed side of a batch: as it was read, and its brain for subjects that are brains beside a fixed head.

use std::sync::{Arc, OnceLock};

use antsreg_pool::{Target, Worker};
use antsreg_register::Options;

use super::Job;
use crate::Error;
use crate::pair::{FixedInputs, Inputs};
use crate::skulls::Skull;

/// The fixed side of all registrations of a batch.
#[derive(Debug)]
pub struct FixedSide {
    as_read: Arc<Target>,
    /// The brain of the fixed head, extracted when the first subject needs it.
    brain: OnceLock<(Arc<Target>, Skull)>,
}

impl FixedSide {
    /// The fixed side of registrations with these options.
    pub(super) fn new(fixed: &FixedInputs, options: &Options) -> FixedSide {
        FixedSide { as_read: Target::new(fixed.side.clone(), options.clone()), brain: OnceLock::new() }
    }

    /// Extracts the brains of the sides of a subject's registration that its files say, on the device of a worker.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a GPU with too little memory.
    pub fn extract_brains(&self, worker: &mut Worker, job: &Job, inputs: &mut Inputs) -> Result<(), Error> {
        let [of_fixed, of_moving] = job.files.brain.sides(inputs.sides())?;
        if of_fixed {
            self.extract_own(worker, job, inputs)?;
        }
        if of_moving {
            let options = &self.as_read.options;
            inputs.skulls[1] = Some(Skull::remove_on(worker, options, &job.files.moving, &mut inputs.moving)?);
        }
        Ok(())
    }

    /// Gives `inputs` the brain of the fixed side, extracted once for all subjects. Several workers may extract it at the same time, and all find the same: one that
    /// waited for another could hold the memory that the other one needs.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a GPU with too little memory.
    pub fn extract_own(&self, worker: &mut Worker, job: &Job, inputs: &mut Inputs) -> Result<(), Error> {
        let (target, skull) = match self.brain.get() {
            Some(made) => made,
            None => {
                let (mut side, options) = (self.as_read.side.clone(), &self.as_read.options);
                let skull = Skull::remove_on(worker, options, &job.files.fixed, &mut side)?;
                self.brain.get_or_init(|| (Target::new(side, options.clone()), skull))
            }
        };
        inputs.fixed.side = target.side.clone();
        inputs.skulls[0] = Some(skull.clone());
        Ok(())
    }

    /// What the worker prepares for a registration of these inputs.
    pub(super) fn target(&self, inputs: &Inputs) -> &Arc<Target> {
        match (&inputs.skulls[0], self.brain.get()) {
            (Some(_), Some((target, _))) => target,
            _ => &self.as_read,
        }
    }
}
