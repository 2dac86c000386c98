//! Resamples the volumes of a series onto the grid of the reference.

use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{self, SplineOrder};
use antsreg_kernels::{Backend, Place};
use antsreg_register::resample::{Kernel, Sampler};
use rayon::prelude::*;

use crate::Error;
use crate::apply::Reading;

/// Resamples volumes onto one grid: on the GPU if it offers the requested interpolation, else on the CPU.
pub(super) struct Corrector<'a, B: Backend> {
    backend: &'a B,
    onto: &'a Grid,
    reading: Reading,
    /// Interpolation kernel and buffers on the GPU; `None` if volumes are resampled on the CPU.
    gpu: Option<OnGpu<B>>,
}

struct OnGpu<B: Backend> {
    kernel: Kernel,
    /// A displacement field of zeros, because the resampling kernel expects a field beside the affine transform.
    still: B::Field,
    out: B::Image,
}

impl<'a, B: Backend> Corrector<'a, B> {
    /// Chooses between GPU and CPU, and allocates the buffers on the GPU.
    ///
    /// # Errors
    /// A device that fails.
    pub fn new(backend: &'a B, onto: &'a Grid, reading: Reading) -> Result<Corrector<'a, B>, Error> {
        let kernel = match (backend.place(), reading) {
            (Place::Main, _) => None,
            (_, Reading::Linear) => Some(Kernel::Linear),
            (_, Reading::Spline(SplineOrder::CUBIC)) => Some(Kernel::Spline),
            _ => None,
        };
        let on_gpu = |kernel| {
            Ok::<_, antsreg_kernels::Error>(OnGpu {
                kernel,
                still: backend.field(onto.shape)?,
                out: backend.image(onto.shape)?,
            })
        };
        let gpu = kernel.map(on_gpu).transpose().map_err(antsreg_register::Error::from)?;
        Ok(Corrector { backend, onto, reading, gpu })
    }

    /// Resamples volumes, each through its own transform from the reference to the volume, RAS mm.
    ///
    /// # Errors
    /// A device that fails.
    pub fn correct(&mut self, volumes: &[&Volume], transforms: &[AffineTransform]) -> Result<Vec<Volume>, Error> {
        let each = volumes.iter().zip(transforms);
        let Some(OnGpu { kernel, still, out }) = &mut self.gpu else {
            let alone = |(volume, transform): (&&Volume, &AffineTransform)| {
                let chain = TransformChain::from(vec![Transform::Affine(*transform)]);
                apply::resample(volume, self.onto, &chain, self.reading.on(&volume.grid), 0.0)
            };
            return Ok(volumes.par_iter().zip(transforms).map(alone).collect());
        };
        let mut on_gpu = |(volume, transform): (&&Volume, &AffineTransform)| {
            let source = Sampler::new(self.backend, volume, *kernel)?;
            source.read(self.backend, self.onto, Some(&*still), transform, out)?;
            Ok(Volume { grid: self.onto.clone(), voxels: self.backend.download(out)? })
        };
        let corrected: Result<_, antsreg_kernels::Error> = each.map(&mut on_gpu).collect();
        Ok(corrected.map_err(antsreg_register::Error::from)?)
    }
}
