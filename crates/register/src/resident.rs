//! Results of registrations whose warps and images stay on the device.

use std::time::Instant;

use antsreg_core::Grid;
use antsreg_core::io::Deflated;
use antsreg_kernels::ops::Memory as _;
use antsreg_kernels::{Backend, Lent};
use antsreg_syn as syn;

use crate::backend::{OnBackend, PerBackend, with_backend};
use crate::computed::{Computed, Warps};
use crate::images::Images;
use crate::run::OnDevice;
use crate::{Error, Options, Side, Similarity};

/// The result of a registration whose warps and images stay on the device. Other libraries of the same process can use
/// them there, and [`download`](Resident::download) copies them to main memory.
pub struct Resident {
    /// The parts of the registration's result that are in main memory: all except the warps and the warped images.
    pub(crate) computed: Computed,
    /// The warps and the warped images, in the memory of the device.
    pub(crate) kept: OnBackend<ResidentData>,
}

/// Warps and warped images.
pub(crate) struct ResidentData;

impl PerBackend for ResidentData {
    type On<B: Backend> = WarpsAndImages<B>;
}

/// The warps and the warped images of a registration, in the memory of the device that computed them.
pub(crate) struct WarpsAndImages<B: Backend> {
    warps: Option<syn::Warps<B>>,
    /// The warped images; `None` if the backend has no kernel for their interpolation.
    images: Option<Images<B::Image>>,
    /// Grids of the fixed and the moving image.
    grids: [Grid; 2],
    /// Whether the inverse warp was requested as part of the result.
    inverse_warp: bool,
    /// Index of the last stage of the registration.
    stage: usize,
}

impl<B: Backend> WarpsAndImages<B> {
    /// Reads the warp with a function; `None` without a deformable stage.
    fn read_warp<T>(&self, read: impl FnOnce(&syn::Warps<B>) -> Result<T, syn::Error>) -> Result<Option<T>, Error> {
        let read = |warps| read(warps).map_err(|source| Error::deformable(self.stage, source));
        self.warps.as_ref().map(read).transpose()
    }

    /// Reads the inverse warp with a function; `None` if the inverse warp was not requested.
    fn read_inverse_warp<T>(
        &self,
        read: impl FnOnce(&syn::Warps<B>) -> Result<T, syn::Error>,
    ) -> Result<Option<T>, Error> {
        if self.inverse_warp { self.read_warp(read) } else { Ok(None) }
    }

    /// Reads the image that `of` selects with a function; `None` if there is no such image.
    fn read_image<T>(
        &self,
        of: impl FnOnce(&Images<B::Image>) -> Option<&B::Image>,
        read: impl FnOnce(&B::Image) -> Result<T, antsreg_kernels::Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.images.as_ref().and_then(of).map(read).transpose()?)
    }

    /// Copies the warps and the warped images of the registration from the device to main memory.
    fn download(&self, backend: &B, computed: &Computed) -> Result<Computed, Error> {
        let began = Instant::now();
        let warps = self.warps.as_ref().map(|warps| Warps::download(backend, warps, self.stage, self.inverse_warp));
        let mut computed = Computed { warps: warps.transpose()?, ..computed.clone() };
        computed.seconds.download = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let grids = self.grids.each_ref();
        computed.images = self.images.as_ref().map(|images| images.download(backend, grids)).transpose()?;
        computed.seconds.images += began.elapsed().as_secs_f64();
        Ok(computed)
    }
}

impl Resident {
    /// Computes the warped images of a registration, and keeps the images and the warps on the device.
    pub(crate) fn kept<B: Backend>(
        backend: &B,
        found: OnDevice<B>,
        sides: [&Side; 2],
        options: &Options,
    ) -> Result<(Computed, WarpsAndImages<B>), Error> {
        let (mut computed, warps) = Computed::of(found);
        let (began, stage) = (Instant::now(), options.last_stage());
        let pair = computed.pair(sides, stage);
        let make = |wanted| Images::on_device(backend, &pair, warps.as_ref(), wanted);
        let images = options.images.map(make).transpose()?.flatten();
        // Without a kernel for the interpolation there is no image here; `download` leaves it to the CPU.
        let none = Images { warped: None, inverse_warped: None, similarity: Similarity::default(), coarse: None };
        computed.images = Some(images.as_ref().map_or(none, Images::without_volumes));
        computed.seconds.images = began.elapsed().as_secs_f64();
        let grids = sides.map(|side| side.grid().clone());
        Ok((computed, WarpsAndImages { warps, images, grids, inverse_warp: options.inverse_warp, stage }))
    }

    /// The result without the warps and the warped images, which stay on the device: its transform chains contain only
    /// the affine.
    pub fn outline(&self) -> Computed {
        self.computed.clone()
    }

    /// Downloads the result, with its warps and images.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(&self) -> Result<Computed, Error> {
        with_backend!(&self.kept, (backend, kept) => kept.download(backend, &self.computed))
    }

    /// The warp: displacements that are applied before the affine, as an array X×Y×Z×3 on the fixed grid, RAS mm;
    /// `None` without a deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn warp(&self) -> Result<Option<Lent>, Error> {
        with_backend!(&self.kept, (backend, kept) => kept.read_warp(|warps| warps.lend_warp(backend)))
    }

    /// The inverse of the warp, as an array X×Y×Z×3 on the fixed grid, RAS mm; `None` if it was not requested or there
    /// is no deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn inverse_warp(&self) -> Result<Option<Lent>, Error> {
        with_backend!(&self.kept, (backend, kept) => kept.read_inverse_warp(|warps| warps.lend_inverse_warp(backend)))
    }

    /// The moving image, resampled on the fixed grid; `None` if it was not requested, or if only the CPU can compute
    /// its interpolation.
    ///
    /// # Errors
    /// A device that fails.
    pub fn warped(&self) -> Result<Option<Lent>, Error> {
        with_backend!(&self.kept, (backend, kept) => {
            kept.read_image(|images| images.warped.as_ref(), |image| backend.lend_image(image))
        })
    }

    /// The fixed image, resampled on the moving grid; `None` if it was not requested, or if only the CPU can compute
    /// its interpolation.
    ///
    /// # Errors
    /// A device that fails.
    pub fn inverse_warped(&self) -> Result<Option<Lent>, Error> {
        with_backend!(&self.kept, (backend, kept) => {
            kept.read_image(|images| images.inverse_warped.as_ref(), |image| backend.lend_image(image))
        })
    }

    /// The warp, compressed on the device as files with names in `.nii.gz` store it; `None` without a deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn deflated_warp(&self) -> Result<Option<Deflated>, Error> {
        with_backend!(&self.kept, (backend, kept) => kept.read_warp(|warps| warps.deflate_warp(backend)))
    }

    /// The inverse of the warp, compressed on the device as files with names in `.nii.gz` store it; `None` if it was
    /// not requested or there is no deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn deflated_inverse_warp(&self) -> Result<Option<Deflated>, Error> {
        with_backend!(&self.kept, (backend, kept) => kept.read_inverse_warp(|warps| warps.deflate_inverse_warp(backend)))
    }

    /// The image of [`warped`](Resident::warped), compressed on the device as files with names in `.nii.gz` store it.
    ///
    /// # Errors
    /// A device that fails.
    pub fn deflated_warped(&self) -> Result<Option<Deflated>, Error> {
        with_backend!(&self.kept, (backend, kept) => {
            kept.read_image(|images| images.warped.as_ref(), |image| backend.deflate_image(image))
        })
    }

    /// The image of [`inverse_warped`](Resident::inverse_warped), compressed on the device as files with names in
    /// `.nii.gz` store it.
    ///
    /// # Errors
    /// A device that fails.
    pub fn deflated_inverse_warped(&self) -> Result<Option<Deflated>, Error> {
        with_backend!(&self.kept, (backend, kept) => {
            kept.read_image(|images| images.inverse_warped.as_ref(), |image| backend.deflate_image(image))
        })
    }
}
