//! The result of a registration while its warps are in the memory of the device.

use std::fmt::{Debug, Formatter};

use antsreg_kernels::Backend;

use crate::backend::{OnBackend, PerBackend, map_backend, with_backend};
use crate::run::OnDevice;
use crate::{Computed, Error, Options, Registration, Resident, Side};

/// A registration whose stages have run, with the warps in the memory of the device. Its functions bring the result to
/// where it is needed.
pub struct Registered<'a> {
    pub(crate) found: OnBackend<StagesDone>,
    /// Whether the device is a GPU, which then also resamples the images.
    pub(crate) on_gpu: bool,
    pub(crate) sides: [&'a Side; 2],
    pub(crate) options: &'a Options,
}

/// Results of all stages.
pub(crate) struct StagesDone;

impl PerBackend for StagesDone {
    type On<B: Backend> = OnDevice<B>;
}

/// A computation with the result of a registration while the warps are still on the device. The caller of this crate
/// defines the computation.
pub trait Continuation {
    /// Type of the result that the caller's computation returns.
    type Output;
    /// Type of the errors that the caller's computation returns.
    type Error: From<Error>;

    /// Runs the caller's computation on the device of the registration, through the operations of `backend`. `found` is
    /// the result of the registration, with the warps on the device.
    ///
    /// # Errors
    /// Errors of the computation.
    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Self::Output, Self::Error>;
}

impl Registered<'_> {
    /// Returns the whole result in main memory.
    ///
    /// # Errors
    /// A device that fails; an affine that is singular.
    pub fn finish(self) -> Result<Registration, Error> {
        let (sides, options) = (self.sides, self.options);
        self.download()?.finish(sides, options)
    }

    /// Downloads the warps; a GPU also resamples the images. [`Computed::finish`] computes the rest of the result on
    /// the CPU, also on another thread.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(self) -> Result<Computed, Error> {
        let Registered { found, on_gpu, sides, options } = self;
        with_backend!(found, (backend, found) => Computed::download(backend, found, sides, options, on_gpu))
    }

    /// Resamples the images on the device, and keeps warps and images there.
    ///
    /// # Errors
    /// A device that fails.
    pub fn keep(self) -> Result<Resident, Error> {
        let Registered { found, sides, options, .. } = self;
        let computed;
        let kept = map_backend!(found, (backend, found) => {
            let (rest, kept) = Resident::kept(backend, found, sides, options)?;
            computed = rest;
            kept
        });
        Ok(Resident { computed, kept })
    }

    /// Runs a computation of the caller with the result on the device.
    ///
    /// # Errors
    /// Errors of the computation.
    pub fn run<C: Continuation>(self, continuation: C) -> Result<C::Output, C::Error> {
        with_backend!(self.found, (backend, found) => continuation.run(backend, found))
    }
}

impl Debug for Registered<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registered({:?})", self.sides[0].grid())
    }
}
