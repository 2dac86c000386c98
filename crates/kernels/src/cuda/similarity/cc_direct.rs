//! Windowed cross-correlation as in Luo et al. 2015: the images are in 3D textures, the terms of each window in 3D
//! surfaces, and one thread processes each voxel. It is used to check and time the tiled kernels, and for radii that
//! the tiled kernels do not support.

use crate::cuda::Cuda;
use crate::cuda::arrays::Array;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Shape, arguments};
use crate::cuda::metric_output::Output;
use crate::cuda::similarity::images::{CcPending, ComparedImages};
use crate::{CcParameters, Error, MetricOutput};

/// Buffers of the direct cross-correlation for images of one shape: five CUDA surface objects, to which a kernel writes
/// the terms of the window of each voxel.
pub struct DirectCc {
    shape: [usize; 3],
    surfaces: Surfaces,
    _arrays: Vec<Array>,
}

/// Kernel argument with the layout of the structure `Surfaces` in `cu/cc_direct.cu`: CUDA surface objects for the
/// window means of the images I and J, and for A = Σ(I − mean)², B = Σ(J − mean)² and C = Σ(I − mean)(J − mean).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Surfaces([u64; 5]);
impl Argument for Surfaces {}

/// Number of threads of a block along each axis, as in Luo et al. 2015.
const BLOCK: [u32; 3] = [8, 8, 1];

impl Cuda {
    /// Allocates the buffers of the direct cross-correlation for images of this shape: five 3D arrays on the device,
    /// with CUDA surface objects for access.
    pub fn direct_cc(&self, shape: [usize; 3]) -> Result<DirectCc, Error> {
        let mut arrays = Vec::new();
        let mut surfaces = [0; 5];
        for surface in &mut surfaces {
            let mut array = Array::new(&self.device, shape)?;
            *surface = array.surface()?;
            arrays.push(array);
        }
        Ok(DirectCc { shape, surfaces: Surfaces(surfaces), _arrays: arrays })
    }
}

impl DirectCc {
    /// Computes [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient) without masks. The derivatives at each voxel
    /// are computed from the window centred at the voxel only ([`CcDerivative::Centre`](crate::CcDerivative::Centre)).
    pub fn gradient(
        &self,
        cuda: &Cuda,
        images: [&Image; 2],
        parameters: &CcParameters,
        out: MetricOutput<'_, Cuda>,
    ) -> Result<CcPending, Error> {
        Error::check_shapes("direct cross-correlation", self.shape, images.map(|image| image.shape))?;
        let out = Output::of("direct cross-correlation", self.shape, out)?;
        let kernels = cuda.kernels.cc_direct(&cuda.device)?;
        let [fixed, moving] = images;
        let (i, j) = (fixed.texture(&cuda.device)?.exact, moving.texture(&cuda.device)?.exact);
        let voxels = fixed.len() as u64;
        let launch = Launch::over_blocks(&kernels.cc_direct_terms, self.shape, BLOCK, 1, (2 + 5) * 4 * voxels);
        let (shape, radius, surfaces) = (Shape::of(self.shape), parameters.radius as i32, self.surfaces);
        // SAFETY: the textures and surfaces have this shape. Windows are truncated at the border of the volume, and
        // threads outside the volume return.
        unsafe { cuda.launch(launch, arguments![i, j, shape, radius, surfaces])? };
        let launch =
            Launch::over_voxels(&kernels.cc_direct_gradient, self.shape, (2 + 5 + out.numbers()) * 4 * voxels);
        let pair = ComparedImages::new(images, [None, None], parameters.noise_variance);
        let mut scratch = cuda.scratch();
        scratch.reserve(&cuda.device, launch.blocks())?;
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let mut pending = CcPending::new(&cuda.device)?;
        let result = pending.target();
        // SAFETY: images, surfaces and output have this shape, and threads outside it only take part in the sums.
        // `partial` has three numbers for each block.
        unsafe {
            cuda.launch(launch, arguments![pair, surfaces, radius, out, partial, counter, result])?;
        }
        pending.under_way()?;
        Ok(pending)
    }
}
