//! Work that a batch does for each subject in addition to the registration.

use antsreg_pool::Worker;
use antsreg_register::{Device, Options, Registration};

use super::fixed::FixedSide;
use super::rows::Job;
use crate::Error;
use crate::pair::{FixedInputs, Further, Inputs, PairFiles};

/// Work of a batch for each subject in addition to the registration: reading data, preparing the images before the
/// registration, and finishing the result after it. This work runs at the same time as the work for other subjects.
pub trait Steps: Sync {
    /// Data that a batch reads for a subject in addition to the inputs of the registration.
    type Read: Send;
    /// Data that is computed for a subject on the device (GPU or CPU) before its registration, such as the mask of its
    /// brain. The data is used when the subject's files are written.
    type Prepared: Send;

    /// Reads and checks a subject.
    ///
    /// # Errors
    /// A file that cannot be read, or does not fit the fixed image.
    fn read(&self, fixed: FixedInputs, job: &Job) -> Result<(Inputs, Self::Read), Error>;

    /// Prepares the fixed and the moving image of a subject for the registration with `options`, on the device of a
    /// worker.
    ///
    /// # Errors
    /// An image that cannot be prepared.
    fn prepare(
        &self,
        worker: &mut Worker,
        options: &Options,
        fixed: &FixedSide,
        job: &Job,
        inputs: &mut Inputs,
        read: Self::Read,
    ) -> Result<Self::Prepared, Error>;

    /// Completes the result of a registration. This runs before the pictures of the result are drawn and the files of
    /// the registration are written. Returns additional files, which are written together with the files of the
    /// registration.
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

/// Reads the images, masks and labels of the fixed side for [`Alone`]. The shading of the images is removed on the CPU,
/// because the devices are still being opened.
///
/// # Errors
/// Files that cannot be read or do not fit each other; a bias field that cannot be found.
pub fn read_fixed(files: &PairFiles) -> Result<FixedInputs, Error> {
    let mut fixed = FixedInputs::read(files)?;
    fixed.remove_shading(files, &Device::cpu())?;
    Ok(fixed)
}

/// The steps of a batch that only registers its subjects. Brains are extracted before the registration, if the files of
/// a subject ask for this.
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
