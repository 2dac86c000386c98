//! The steps of a batch for each subject in addition to the registration.

use antsreg_pool::Worker;
use antsreg_register::{Options, Registration};

use super::{FixedSide, Job};
use crate::Error;
use crate::pair::{FixedInputs, Further, Inputs};

/// What is done with a subject beside its registration, in three steps that run beside those of other subjects.
pub trait Steps: Sync {
    /// Data that is read for a subject in addition to the inputs of its registration.
    type Read: Send;
    /// What is prepared for a subject on the device and used when its files are written.
    type Prepared: Send;

    /// Reads and checks a subject.
    ///
    /// # Errors
    /// A file that cannot be read or does not fit the fixed side.
    fn read(&self, fixed: FixedInputs, job: &Job) -> Result<(Inputs, Self::Read), Error>;

    /// Prepares the sides for the registration with these `options`, on the device of a worker.
    ///
    /// # Errors
    /// A side that cannot be prepared.
    fn prepare(
        &self,
        worker: &mut Worker,
        options: &Options,
        fixed: &FixedSide,
        job: &Job,
        inputs: &mut Inputs,
        read: Self::Read,
    ) -> Result<Self::Prepared, Error>;

    /// Completes a result before it is drawn and written, and names what is written with it.
    ///
    /// # Errors
    /// A result that cannot be completed.
    fn finish<'a>(
        &'a self,
        job: &'a Job,
        inputs: &mut Inputs,
        found: &mut Registration,
        prepared: Self::Prepared,
    ) -> Result<Further<'a>, Error>;
}

/// The steps of a batch that only registers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Steps for Alone {
    type Read = ();
    type Prepared = ();

    fn read(&self, fixed: FixedInputs, job: &Job) -> Result<(Inputs, ()), Error> {
        Ok((Inputs::beside(fixed, &job.files)?, ()))
    }

    fn prepare(
        &self,
        worker: &mut Worker,
        _: &Options,
        fixed: &FixedSide,
        job: &Job,
        inputs: &mut Inputs,
        (): (),
    ) -> Result<(), Error> {
        fixed.extract_brains(worker, job, inputs)
    }

    fn finish<'a>(&'a self, _: &'a Job, _: &mut Inputs, _: &mut Registration, (): ()) -> Result<Further<'a>, Error> {
        Ok(Further::default())
    }
}
