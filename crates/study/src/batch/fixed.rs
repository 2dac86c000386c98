//! The fixed side of a batch of registrations: the fixed image as read and, for subjects without a skull, the brain
//! extracted from that image.

use std::sync::{Arc, OnceLock};

use antsreg_pool::{Target, Worker};
use antsreg_register::Options;

use super::rows::Job;
use crate::Error;
use crate::pair::{FixedInputs, Inputs};
use crate::skulls::Skull;

/// The fixed side (an image for each channel, and a mask) of all registrations of a batch.
#[derive(Debug)]
pub struct FixedSide {
    as_read: Arc<Target>,
    /// The brain of the fixed head, extracted when the first subject needs it.
    brain: OnceLock<(Arc<Target>, Skull)>,
}

impl FixedSide {
    /// Creates the fixed side of a batch from the fixed image, images of other channels, and a mask. All registrations
    /// have these `options`.
    pub(super) fn new(fixed: &FixedInputs, options: &Options) -> FixedSide {
        FixedSide { as_read: Target::new(fixed.side.clone(), options.clone()), brain: OnceLock::new() }
    }

    /// Extracts the brain of the fixed image, the moving image or both, according to the option that the subject has
    /// for brain extraction. Runs on the device of a worker.
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

    /// Replaces the fixed images of `inputs` by their brain, which is extracted once for all subjects. Several workers
    /// may extract this brain at the same time, with equal results. No worker waits for another worker, because a
    /// waiting worker could hold memory that the other worker needs.
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

    /// The fixed side as prepared for the registration of `inputs`: the brain of the fixed image if the brain was
    /// extracted, the fixed image as read, or a fixed image that was made for this subject alone.
    pub(super) fn target(&self, inputs: &Inputs) -> Arc<Target> {
        if let (Some(_), Some((target, _))) = (&inputs.skulls[0], self.brain.get()) {
            return target.clone();
        }
        let side = &inputs.fixed.side;
        match side.image.is(&self.as_read.side.image) {
            true => self.as_read.clone(),
            false => Target::new(side.clone(), self.as_read.options.clone()),
        }
    }
}
