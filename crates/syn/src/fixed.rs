//! The fixed side of a registration, which outlives it when many images are brought to one.

use std::ops::Deref;

use antsreg_core::AffineTransform;
use antsreg_core::report::Observer;
use antsreg_core::schedule::Level;
use antsreg_kernels::Backend;

use crate::levels::run;
use crate::load::{Loaded, Smoothed};
use crate::{Course, Error, Images, Options, Outcome, Scores, Warps};

/// The fixed images on a device, and the parameters of all registrations to it.
pub struct Fixed<B: Backend> {
    pub(crate) loaded: Loaded<B>,
    pub(crate) options: Options,
    /// The images smoothed for each level; empty unless kept.
    pyramid: Vec<Smoothed<B>>,
}

/// What is kept or was made for the moment.
pub(crate) enum KeptOrMade<'a, T> {
    Kept(&'a T),
    Made(T),
}

impl<T> Deref for KeptOrMade<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            KeptOrMade::Kept(kept) => kept,
            KeptOrMade::Made(made) => made,
        }
    }
}

impl<B: Backend> Fixed<B> {
    /// Brings the images and their mask to the device.
    ///
    /// # Errors
    /// Those of [`crate::register`] that concern the fixed images, the channels and the device.
    pub fn new<'a>(backend: &B, images: impl Into<Images<'a>>, options: &Options) -> Result<Self, Error> {
        if let Some(channel) = options.channels.iter().find(|c| !(c.weight > 0.0 && c.weight.is_finite())) {
            return Err(Error::Weight(channel.weight));
        }
        let loaded = Loaded::new(backend, "fixed", &images.into(), options)?;
        Ok(Fixed { loaded, options: options.clone(), pyramid: Vec::new() })
    }

    /// Keeps the smoothed images of every level as well: for more than one registration, at the cost of their memory.
    pub fn keep_pyramid(mut self, backend: &B) -> Result<Self, Error> {
        let smooth = |level: &Level| self.loaded.smoothed(backend, level.sigma_voxels);
        self.pyramid = self.options.levels.iter().map(smooth).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Registers `moving` to these images, starting from `initial` (fixed → moving, RAS mm). The backend is the one that
    /// made this side. What was registered before does not show in the result.
    ///
    /// # Errors
    /// Those of [`crate::register`] that concern the moving images, the start, the levels and the device.
    pub fn register<'a>(
        &self,
        backend: &B,
        moving: impl Into<Images<'a>>,
        initial: &AffineTransform,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let (warps, course) = self.find(backend, moving, initial, observer)?;
        let [warp, inverse_warp] = [warps.download_warp(backend)?, warps.download_inverse_warp(backend)?];
        let scores = self.scores(backend, &warps)?;
        Ok(Outcome { warp, inverse_warp, course, scores })
    }

    /// As [`register`](Fixed::register), but the warps stay on the device.
    pub fn find<'a>(
        &self,
        backend: &B,
        moving: impl Into<Images<'a>>,
        initial: &AffineTransform,
        observer: &mut dyn Observer,
    ) -> Result<(Warps<B>, Course), Error> {
        run(backend, self, &moving.into(), initial, observer)
    }

    /// What warps to these images are like where their mask counts, or everywhere.
    pub fn scores(&self, backend: &B, warps: &Warps<B>) -> Result<Scores, Error> {
        warps.scores(backend, self.loaded.mask())
    }

    /// The images smoothed for a level.
    pub(crate) fn smoothed(&self, backend: &B, level: usize) -> Result<KeptOrMade<'_, Smoothed<B>>, Error> {
        if let Some(images) = self.pyramid.get(level) {
            return Ok(KeptOrMade::Kept(images));
        }
        Ok(KeptOrMade::Made(self.loaded.smoothed(backend, self.options.levels[level].sigma_voxels)?))
    }
}
