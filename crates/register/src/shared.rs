//! A side of a running registration, with a copy of its first image on the device that stages share.

use std::borrow::Cow;

use antsreg_core::Volume;
use antsreg_kernels::{Backend, Input, Place, Voxels};
use antsreg_syn as syn;

use crate::{Error, Side};

/// Number of voxels from which an image is large. Where stages share copies of such images, memory that linear stages
/// used is given back before a deformable stage: pieces of the size of an image are too small for its fields, and would
/// be kept beside them.
const LARGE: usize = 1 << 25;

/// The fixed or the moving side of a running registration.
pub(crate) struct SharedSide<'a, B: Backend> {
    /// The side as the stages compare it.
    pub(crate) side: Cow<'a, Side>,
    /// A copy of the first image in the memory of the device; `None` if each stage makes its own.
    copy: Option<B::Image>,
}

impl<'a, B: Backend> SharedSide<'a, B> {
    /// # Errors
    /// A device that fails while the images of a side with a lesion are copied from it.
    pub(crate) fn new(side: &'a Side) -> Result<Self, Error> {
        Ok(SharedSide { side: side.compared()?, copy: None })
    }

    /// The weights of the voxels of the first image, for a linear stage.
    pub(crate) fn weight(&self, stage: usize) -> Option<Cow<'_, Volume>> {
        self.side.weight(stage)
    }

    /// Copies the first image to the device, where linear stages read it, until a deformable stage takes the copy. Does
    /// nothing if the device is the CPU, or has the image already.
    pub(crate) fn share(&mut self, backend: &B) -> Result<(), Error> {
        let input = self.input(backend)?;
        if backend.place() != Place::Main && matches!(input.voxels, Voxels::Host(_)) {
            self.copy = Some(input.load(backend)?);
        }
        Ok(())
    }

    /// The first image, for a linear stage.
    pub(crate) fn input(&self, backend: &B) -> Result<Input<'_, B::Image>, Error> {
        match &self.copy {
            Some(image) => Ok(Input { grid: self.side.grid(), voxels: Voxels::Device(image) }),
            None => self.side.image.input(backend),
        }
    }

    /// The images of all channels and the mask, for a deformable stage, which also gets the copy. Later stages make
    /// copies of their own.
    pub(crate) fn images(&mut self, backend: &B, stage: usize) -> Result<syn::Images<'_, B::Image>, Error> {
        let copy = self.copy.take();
        if copy.is_some() && self.side.grid().len() >= LARGE {
            backend.release_kept_memory()?;
        }
        Ok(syn::Images { copy, ..self.side.images(backend, stage)? })
    }
}
