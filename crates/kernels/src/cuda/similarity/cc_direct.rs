//! Windowed cross-correlation as in Luo et al. 2015: the images are in 3D textures, the terms of each window in 3D
//! surfaces, and one thread processes each voxel. It takes every radius, both derivatives, and masks.

use crate::cuda::Cuda;
use crate::cuda::arrays::Array;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, arguments};
use crate::cuda::metric_output::Output;
use crate::cuda::similarity::images::{CcPending, ComparedImages};
use crate::{CcDerivative, CcParameters, Error, MetricOutput};

/// Buffers of the direct cross-correlation for images of one shape: six CUDA surface objects, to which a kernel writes
/// the terms of the window of each voxel.
pub struct DirectCc {
    shape: [usize; 3],
    surfaces: Surfaces,
    _arrays: Vec<Array>,
}

/// Kernel argument with the layout of the structure `Surfaces` in `cu/cc_direct.cu`: CUDA surface objects for the
/// window means of the images I and J, for A = Σ(I − mean)², B = Σ(J − mean)² and C = Σ(I − mean)(J − mean), and for the
/// number of voxels of the window that count.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Surfaces([u64; CcParameters::SURFACES]);
impl Argument for Surfaces {}

/// Number of threads of a block along each axis, as in Luo et al. 2015.
const BLOCK: [u32; 3] = [8, 8, 1];

impl Cuda {
    /// Allocates the buffers of the direct cross-correlation for images of this shape: six 3D arrays on the device,
    /// with CUDA surface objects for access.
    pub fn direct_cc(&self, shape: [usize; 3]) -> Result<DirectCc, Error> {
        let mut arrays = Vec::new();
        let mut surfaces = [0; CcParameters::SURFACES];
        for surface in &mut surfaces {
            let mut array = Array::new(&self.device, shape)?;
            *surface = array.surface()?;
            arrays.push(array);
        }
        Ok(DirectCc { shape, surfaces: Surfaces(surfaces), _arrays: arrays })
    }
}

impl DirectCc {
    /// Computes [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient) with textures and surfaces, whichever
    /// kernels the parameters name.
    pub fn gradient(
        &self,
        cuda: &Cuda,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &CcParameters,
        out: MetricOutput<'_, Cuda>,
    ) -> Result<CcPending, Error> {
        let read = images.into_iter().chain(masks.into_iter().flatten()).map(|image| image.shape);
        Error::check_shapes("direct cross-correlation", self.shape, read)?;
        let out = Output::of("direct cross-correlation", self.shape, out)?;
        let kernels = cuda.kernels.cc_direct(&cuda.device)?;
        let [fixed, moving] = images;
        let (i, j) = (fixed.texture(&cuda.device)?.exact, moving.texture(&cuda.device)?.exact);
        let (voxels, terms) = (fixed.len() as u64, CcParameters::SURFACES as u64);
        let pair = ComparedImages::new(images, masks, parameters.noise_variance);
        let (radius, surfaces) = (parameters.radius as i32, self.surfaces);
        let launch = Launch::over_blocks(&kernels.cc_direct_terms, self.shape, BLOCK, 1, (2 + terms) * 4 * voxels);
        // SAFETY: textures, masks and surfaces have this shape. Windows are truncated at the border of the volume, and
        // threads outside the volume return.
        unsafe { cuda.launch(launch, arguments![i, j, pair, radius, surfaces])? };
        let over_voxels = |kernel, numbers| Launch::over_voxels(kernel, self.shape, numbers * 4 * voxels);
        let launch = match parameters.derivative {
            CcDerivative::Centre => over_voxels(&kernels.cc_direct_gradient, 2 + terms + out.numbers()),
            CcDerivative::Exact => over_voxels(&kernels.cc_direct_windows, 2 * terms),
        };
        let mut scratch = cuda.scratch();
        scratch.reserve(&cuda.device, launch.blocks())?;
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let mut pending = CcPending::new(&cuda.device)?;
        let result = pending.target();
        match parameters.derivative {
            // SAFETY: images, masks, surfaces and output have this shape, and threads outside it only take part in the
            // sums. `partial` has three numbers for each block.
            CcDerivative::Centre => unsafe {
                cuda.launch(launch, arguments![pair, surfaces, out, partial, counter, result])?;
            },
            CcDerivative::Exact => {
                // SAFETY: as for the other derivative; each thread reads and writes the surfaces at its own voxel only.
                unsafe { cuda.launch(launch, arguments![pair, surfaces, partial, counter, result])? };
                let launch = over_voxels(&kernels.cc_direct_exact, 2 + terms + out.numbers());
                // SAFETY: images, masks, surfaces and output have this shape, and windows are truncated at its border.
                unsafe { cuda.launch(launch, arguments![pair, surfaces, radius, out])? };
            }
        }
        pending.under_way()?;
        Ok(pending)
    }
}
