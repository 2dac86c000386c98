//! The fixed images of registrations, prepared on a device for any number of moving images.

use std::ops::Deref;

use antsreg_core::AffineTransform;
use antsreg_core::report::Observer;
use antsreg_kernels::Backend;

use crate::error::go_on;
use crate::fields::Fields;
use crate::levels::run;
use crate::load::{Loaded, Smoothed};
use crate::relaxation;
use crate::{Error, Images, Iterations, LevelOutcome, Options, Outcome, Relaxed, Scores, Warps};

/// The fixed images on a device, and the options of all registrations to these images.
pub struct Fixed<B: Backend> {
    pub(crate) loaded: Loaded<B>,
    options: Options,
    /// The fixed images, smoothed for each level. The list is empty unless smoothed images are kept between
    /// registrations.
    pyramid: Vec<Smoothed<B>>,
}

/// Smoothed images of a level, or other data: either borrowed, because they were kept from an earlier registration, or
/// newly computed.
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
    /// Uploads the fixed images and their mask to the device and prepares them.
    ///
    /// # Errors
    /// The errors of [`crate::register`] that concern the options, the fixed images, the device and the observer.
    pub fn new<'a>(
        backend: &B,
        images: impl Into<Images<'a, B::Image>>,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        options.check()?;
        let loaded = Loaded::new(backend, images.into(), None, options, observer)?;
        Ok(Fixed { loaded, options: options.clone(), pyramid: Vec::new() })
    }

    /// Computes the smoothed images of every resolution level now, and keeps them for all registrations to these fixed
    /// images. This saves time from the second registration on, and takes memory
    /// ([`memory::prepared_device_bytes`](crate::memory::prepared_device_bytes)). Nothing is kept if boundaries get more
    /// contrast, because then the images depend on the moving images.
    ///
    /// # Errors
    /// The device failed, or the observer stopped the run.
    pub fn keep_pyramid(mut self, backend: &B, observer: &mut dyn Observer) -> Result<Self, Error> {
        if self.options.changes_contrast() {
            return Ok(self);
        }
        let mut smooth = |level| self.loaded.smoothed(backend, &self.options, level, observer);
        self.pyramid = (0..self.options.levels.len()).map(&mut smooth).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The options of all registrations to these fixed images.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Registers `moving` to these fixed images in one deformable stage, starting from `initial` (fixed → moving, RAS
    /// mm). `backend` must be the backend that prepared the fixed images. Earlier registrations do not change the
    /// result.
    ///
    /// # Errors
    /// The errors of [`crate::register`] that concern the moving images, the start, the device and the observer.
    pub fn register<'a>(
        &self,
        backend: &B,
        moving: impl Into<Images<'a, B::Image>>,
        initial: &AffineTransform,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let found = self.find(backend, moving, initial, None, observer)?;
        self.outcome(backend, found, observer)
    }

    /// The outcome of a registration that has found these fields.
    pub(crate) fn outcome(
        &self,
        backend: &B,
        (fields, levels): (Fields<B>, Vec<LevelOutcome>),
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let (warps, relaxed) = self.warps(backend, fields, observer)?;
        go_on(observer.poll())?;
        let warp = warps.download_warp(backend)?;
        go_on(observer.poll())?;
        let inverse_warp = warps.download_inverse_warp(backend)?;
        go_on(observer.poll())?;
        let scores = self.scores(backend, &warps)?;
        Ok(Outcome { warp, inverse_warp, iterations: Iterations { levels, relaxed }, scores })
    }

    /// Runs all levels of one deformable stage. It starts from `initial` (fixed → moving, RAS mm) and, if `from` is
    /// given, from the fields of an earlier stage. `initial` and the first fixed image's grid must be the same in all
    /// stages. Returns the fields, which stay on the device, and the outcome of each level, coarsest first.
    ///
    /// Two stages give exactly the result of one stage with the levels of both, if each level has iterations and no
    /// level is coarser than the level before it. A level that is coarser than its initial fields keeps the detail of
    /// these fields: the level runs on its coarser grid, and only the change that it made is added to the fields. A
    /// stage without iterations returns the fields unchanged.
    ///
    /// # Errors The errors of [`register`](Fixed::register); [`Error::FieldsGrid`] if the fields in `from` have a wrong
    /// grid.
    pub fn find<'a>(
        &self,
        backend: &B,
        moving: impl Into<Images<'a, B::Image>>,
        initial: &AffineTransform,
        from: Option<Fields<B>>,
        observer: &mut dyn Observer,
    ) -> Result<(Fields<B>, Vec<LevelOutcome>), Error> {
        run(backend, self, self.loaded.shared(), moving.into(), initial, from, observer)
    }

    /// Like [`find`](Fixed::find), for the last registration to these fixed images: it overwrites them where `find`
    /// would take memory for a copy. Afterwards they serve for [`warps`](Fixed::warps) and [`scores`](Fixed::scores)
    /// alone.
    ///
    /// # Errors The errors of [`find`](Fixed::find); [`Error::Channels`] if this function was called before.
    pub fn find_last<'a>(
        &mut self,
        backend: &B,
        moving: impl Into<Images<'a, B::Image>>,
        initial: &AffineTransform,
        from: Option<Fields<B>>,
        observer: &mut dyn Observer,
    ) -> Result<(Fields<B>, Vec<LevelOutcome>), Error> {
        let images = self.loaded.taken();
        run(backend, self, images, moving.into(), initial, from, observer)
    }

    /// Composes the fields of the last stage to the warp and its inverse on the first fixed image's grid. Where a warp
    /// folds, or where the residual of warp and inverse is larger than
    /// [`largest_residual_voxels`](Options::largest_residual_voxels), both are smoothed or corrected locally (relaxed).
    /// The warps stay on the device.
    ///
    /// # Errors [`Error::FieldsGrid`] if the fields have a wrong grid; the device failed; the observer stopped the run.
    pub fn warps(
        &self,
        backend: &B,
        mut fields: Fields<B>,
        observer: &mut dyn Observer,
    ) -> Result<(Warps<B>, Relaxed), Error> {
        let full = self.loaded.grid();
        fields.check_grid(full)?;
        if fields.grid().shape != full.shape {
            // The displacement fields on the coarser grid are replaced here by fields on the full grid, which frees the
            // memory of the coarser fields.
            fields = fields.resized(backend, full, 1, observer)?;
        }
        go_on(observer.poll())?;
        relaxation::warps(backend, full, fields.sides, &self.options, observer)
    }

    /// Computes the quality scores of warps (folds, residual of warp and inverse) to these fixed images, inside the
    /// fixed mask or, without a mask, everywhere.
    ///
    /// # Errors
    /// The device failed.
    pub fn scores(&self, backend: &B, warps: &Warps<B>) -> Result<Scores, Error> {
        warps.scores(backend, self.loaded.mask())
    }

    /// The fixed images, smoothed for a resolution level: those kept from an earlier registration, or newly computed.
    pub(crate) fn smoothed(
        &self,
        backend: &B,
        images: &Loaded<B>,
        level: usize,
        observer: &mut dyn Observer,
    ) -> Result<KeptOrMade<'_, Smoothed<B>>, Error> {
        if let Some(images) = self.pyramid.get(level) {
            return Ok(KeptOrMade::Kept(images));
        }
        Ok(KeptOrMade::Made(images.smoothed(backend, &self.options, level, observer)?))
    }
}
