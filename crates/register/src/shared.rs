//! A side of a running registration, with a copy of its first image on the device that stages share.

use std::borrow::Cow;

use antsreg_core::Volume;
use antsreg_kernels::{Backend, Input, Place, Voxels};
use antsreg_syn as syn;

use crate::{Error, Options, Side};

/// Number of voxels from which an image is large. Where stages share copies of such images, memory that linear stages
/// used is given back before a deformable stage: pieces of the size of an image are too small for its fields, and would
/// be kept beside them.
const LARGE: usize = 1 << 25;

/// The fixed or the moving side of a running registration.
pub(crate) struct SharedSide<'a, B: Backend> {
    /// The side as the stages compare it.
    pub(crate) side: Cow<'a, Side>,
    /// The numbers of the images that each stage compares; see [`Options::pairs`].
    pairs: &'a [Vec<usize>],
    /// A copy of the first image in the memory of the device; `None` if each stage makes its own.
    copy: Option<B::Image>,
}

impl<'a, B: Backend> SharedSide<'a, B> {
    /// # Errors
    /// A device that fails while the images of a side with a lesion are copied from it.
    pub(crate) fn new(side: &'a Side, options: &'a Options) -> Result<Self, Error> {
        Ok(SharedSide { side: side.compared()?, pairs: &options.pairs, copy: None })
    }

    /// The weights of the voxels of the first image, for a linear stage.
    pub(crate) fn weight(&self, stage: usize) -> Option<Cow<'_, Volume>> {
        self.side.weight(stage)
    }

    /// Copies the first image to the device, where linear stages read it, until a deformable stage takes the copy. Does
    /// nothing if the device is the CPU, or has the image already.
    pub(crate) fn share(&mut self, backend: &B) -> Result<(), Error> {
        let input = self.side.image.input(backend)?;
        if backend.place() != Place::Main && matches!(input.voxels, Voxels::Host(_)) {
            self.copy = Some(input.load(backend)?);
        }
        Ok(())
    }

    /// The image that a linear stage compares.
    pub(crate) fn input(&self, backend: &B, stage: usize) -> Result<Input<'_, B::Image>, Error> {
        let number = self.pairs.get(stage).and_then(|numbers| numbers.first()).copied().unwrap_or(0);
        match (&self.copy, self.side.pair(number)) {
            (Some(image), _) if number == 0 => Ok(Input { grid: self.side.grid(), voxels: Voxels::Device(image) }),
            (_, image) => image.unwrap_or(&self.side.image).input(backend),
        }
    }

    /// The images and the mask for a deformable stage, which also gets the copy if it compares the first image. Later
    /// stages make copies of their own.
    pub(crate) fn images(&mut self, backend: &B, stage: usize) -> Result<syn::Images<'_, B::Image>, Error> {
        let numbers = self.pairs.get(stage).map(Vec::as_slice);
        let copy = self.copy.take().filter(|_| numbers.is_none_or(|numbers| numbers.first() == Some(&0)));
        if copy.is_some() && self.side.grid().len() >= LARGE {
            backend.release_kept_memory()?;
        }
        Ok(syn::Images { copy, ..self.side.images(backend, stage, numbers)? })
    }
}
