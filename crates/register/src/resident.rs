//! Results of registrations whose warps and images stay on the device.

#[cfg(feature = "cuda")]
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::Grid;
#[cfg(feature = "cuda")]
use antsreg_kernels::Cuda;
use antsreg_kernels::{Backend, Cpu, Lent};
use antsreg_syn as syn;

use crate::images::Images;
use crate::registration::Warps;
use crate::run::OnDevice;
use crate::{Computed, Error, Options, Registration, Side};

/// The result of a registration whose warps and images stay on the device. Other libraries of the same process can use
/// them there, and [`download`](Resident::download) copies them to main memory.
pub struct Resident {
    /// The parts of the registration's result that are in main memory: all except the warps and the warped images.
    computed: Computed,
    kept: OnBackend,
}

/// The backend (CPU or CUDA) of the registration, with the warps and the warped images in its memory.
enum OnBackend {
    Cpu(Cpu, Kept<Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>, Kept<Cuda>),
}

/// The warps and the warped images of a registration, in the memory of the device that computed them.
struct Kept<B: Backend> {
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

/// Macro that evaluates an expression with the warps and images of a result. The same expression is compiled for the
/// CPU and for CUDA.
macro_rules! with_kept {
    ($on:expr, ($backend:ident, $kept:ident) => $run:expr) => {
        match $on {
            OnBackend::Cpu($backend, $kept) => $run,
            #[cfg(feature = "cuda")]
            OnBackend::Cuda(cuda, $kept) => {
                let $backend = cuda.as_ref();
                $run
            }
        }
    };
}

impl<B: Backend> Kept<B> {
    /// Computes the warped images of a registration, and keeps the images and the warps on the device.
    fn of(
        backend: &B,
        found: OnDevice<B>,
        sides: [&Side; 2],
        options: &Options,
    ) -> Result<(Computed, Kept<B>), Error> {
        let (mut computed, warps) = Computed::of(found);
        let (began, stage) = (Instant::now(), options.last_stage());
        let pair = computed.pair(sides, stage);
        let make = |wanted| Images::on_device(backend, &pair, warps.as_ref(), wanted);
        let images = options.images.map(make).transpose()?.flatten();
        let similarity = images.as_ref().map(|images| images.similarity).unwrap_or_default();
        computed.images = Some(Images { warped: None, inverse_warped: None, similarity });
        computed.seconds.images = began.elapsed().as_secs_f64();
        let grids = sides.map(|side| side.grid().clone());
        Ok((computed, Kept { warps, images, grids, inverse_warp: options.inverse_warp, stage }))
    }

    fn lend_warp(&self, backend: &B) -> Result<Option<Lent>, Error> {
        let lend = |warps: &syn::Warps<B>| warps.lend_warp(backend).map_err(|source| self.failed(source));
        self.warps.as_ref().map(lend).transpose()
    }

    fn lend_inverse_warp(&self, backend: &B) -> Result<Option<Lent>, Error> {
        let lend = |warps: &syn::Warps<B>| warps.lend_inverse_warp(backend).map_err(|source| self.failed(source));
        self.warps.as_ref().filter(|_| self.inverse_warp).map(lend).transpose()
    }

    fn failed(&self, source: syn::Error) -> Error {
        Error::deformable(self.stage, source)
    }

    fn lend_image(
        &self,
        backend: &B,
        of: impl FnOnce(&Images<B::Image>) -> Option<&B::Image>,
    ) -> Result<Option<Lent>, Error> {
        let lend = |image| backend.lend_image(image);
        Ok(self.images.as_ref().and_then(of).map(lend).transpose()?)
    }

    /// Copies the warps and the warped images of the registration from the device to main memory.
    fn download(&self, backend: &B, computed: &Computed) -> Result<Computed, Error> {
        let began = Instant::now();
        let warps = self.warps.as_ref().map(|warps| Warps::download(backend, warps, self.stage, self.inverse_warp));
        let warps = warps.transpose()?;
        let grids = self.grids.each_ref();
        let images = self.images.as_ref().map(|images| images.download(backend, grids)).transpose()?;
        let mut computed = Computed { warps, images, ..computed.clone() };
        computed.seconds.download = began.elapsed().as_secs_f64();
        Ok(computed)
    }
}

impl Resident {
    /// Makes a result whose warps and images are in main memory, on the CPU's backend.
    pub(crate) fn of_cpu(
        cpu: Cpu,
        found: OnDevice<Cpu>,
        sides: [&Side; 2],
        options: &Options,
    ) -> Result<Resident, Error> {
        let (computed, kept) = Kept::of(&cpu, found, sides, options)?;
        Ok(Resident { computed, kept: OnBackend::Cpu(cpu, kept) })
    }

    /// Makes a result whose warps and images are on a GPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_cuda(
        cuda: &Arc<Cuda>,
        found: OnDevice<Cuda>,
        sides: [&Side; 2],
        options: &Options,
    ) -> Result<Resident, Error> {
        let (computed, kept) = Kept::of(cuda.as_ref(), found, sides, options)?;
        Ok(Resident { computed, kept: OnBackend::Cuda(cuda.clone(), kept) })
    }

    /// The result of the registration without warps and warped images: its transform chains contain only the affine.
    ///
    /// # Errors
    /// The errors of [`Computed::finish`].
    pub fn outline(&self, sides: [&Side; 2], options: &Options) -> Result<Registration, Error> {
        self.computed.clone().finish(sides, options)
    }

    /// Downloads the result, with its warps and images.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(&self) -> Result<Computed, Error> {
        with_kept!(&self.kept, (backend, kept) => kept.download(backend, &self.computed))
    }

    /// The warp: displacements that are applied before the affine, as an array X×Y×Z×3 on the fixed grid, RAS mm;
    /// `None` without a deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn warp(&self) -> Result<Option<Lent>, Error> {
        with_kept!(&self.kept, (backend, kept) => kept.lend_warp(backend))
    }

    /// The inverse of the warp, as an array X×Y×Z×3 on the fixed grid, RAS mm; `None` if it was not requested or there
    /// is no deformable stage.
    ///
    /// # Errors
    /// A device that fails.
    pub fn inverse_warp(&self) -> Result<Option<Lent>, Error> {
        with_kept!(&self.kept, (backend, kept) => kept.lend_inverse_warp(backend))
    }

    /// The moving image, resampled on the fixed grid; `None` if it was not requested, or if only the CPU can compute
    /// its interpolation.
    ///
    /// # Errors
    /// A device that fails.
    pub fn warped(&self) -> Result<Option<Lent>, Error> {
        with_kept!(&self.kept, (backend, kept) => kept.lend_image(backend, |images| images.warped.as_ref()))
    }

    /// The fixed image, resampled on the moving grid; `None` if it was not requested, or if only the CPU can compute
    /// its interpolation.
    ///
    /// # Errors
    /// A device that fails.
    pub fn inverse_warped(&self) -> Result<Option<Lent>, Error> {
        with_kept!(&self.kept, (backend, kept) => kept.lend_image(backend, |images| images.inverse_warped.as_ref()))
    }
}
