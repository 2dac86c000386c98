//! The fixed side of a registration, which outlives it when many images are brought to one.

use std::ops::Deref;

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Backend;

use crate::levels::{Loaded, load, run};
use crate::{Error, Options, Outcome};

/// The fixed image on a device, and the parameters of all registrations to it.
pub struct Fixed<B: Backend> {
    pub(crate) loaded: Loaded<B>,
    pub(crate) options: Options,
    /// The image smoothed for each level; empty unless kept.
    pyramid: Vec<B::Image>,
}

/// A volume that is kept or was made for the moment.
pub(crate) enum Smoothed<'a, I> {
    Kept(&'a I),
    Made(I),
}

impl<I> Deref for Smoothed<'_, I> {
    type Target = I;

    fn deref(&self) -> &I {
        match self {
            Smoothed::Kept(image) => image,
            Smoothed::Made(image) => image,
        }
    }
}

impl<B: Backend> Fixed<B> {
    /// Brings the image and its mask (above 0.5 is inside, on the image's grid) to the device.
    pub fn new(backend: &B, (volume, mask): (&Volume, Option<&Volume>), options: &Options) -> Result<Self, Error> {
        let loaded = load(backend, "fixed", volume, mask, AffineTransform::identity(), options)?;
        Ok(Fixed { loaded, options: options.clone(), pyramid: Vec::new() })
    }

    /// Keeps the smoothed image of every level as well: for more than one registration, at the cost of its memory.
    pub fn keep_pyramid(mut self, backend: &B) -> Result<Self, Error> {
        let smooth = |sigma_voxels| backend.smooth(&self.loaded.image, [sigma_voxels; 3]);
        self.pyramid =
            self.options.levels.iter().map(|level| smooth(level.sigma_voxels)).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Registers `moving` to this image, starting from `initial` (fixed → moving, RAS mm). The backend is the one that
    /// made this side. What was registered before does not show in the result.
    pub fn register(
        &self,
        backend: &B,
        moving: (&Volume, Option<&Volume>),
        initial: &AffineTransform,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        run(backend, self, moving, initial, observer)
    }

    /// The image smoothed for a level.
    pub(crate) fn smoothed(&self, backend: &B, level: usize) -> Result<Smoothed<'_, B::Image>, Error> {
        if let Some(image) = self.pyramid.get(level) {
            return Ok(Smoothed::Kept(image));
        }
        let sigma_voxels = self.options.levels[level].sigma_voxels;
        Ok(Smoothed::Made(backend.smooth(&self.loaded.image, [sigma_voxels; 3])?))
    }
}
