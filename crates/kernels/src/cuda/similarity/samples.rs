//! Arguments of the kernels that sample the moving image (`cu/samples.cuh`).

use std::sync::Arc;

use antsreg_core::AffineTransform;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::{Buffer, grown};
use crate::cuda::device::Device;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Shape, Vector, elements};

/// Largest number of transforms in one launch: CUDA's limit for the second dimension of the grid.
pub(in crate::cuda) const MOST_TRANSFORMS: usize = 65_535;

/// Kernel argument with the layout of the structure `Moving` in `cu/samples.cuh`: the moving image and its weights.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct Moving {
    image: u64,
    weight: u64,
    weighted: i32,
    shape: Shape,
    per_edge: Vector,
}
impl Argument for Moving {}

impl Moving {
    /// Makes the kernel argument for a moving image and its weights. `shape` is that of
    /// [`Sampled`](super::sampled::Sampled), because textures repeat a slice.
    pub(in crate::cuda) fn new(
        cuda: &Cuda,
        moving: &Image,
        moving_weight: Option<&Image>,
        shape: [usize; 3],
        edge_voxels: [f64; 3],
    ) -> Result<Moving, Error> {
        Error::check_shapes("moving weight", moving.shape, moving_weight.map(|weight| weight.shape))?;
        let weight = moving_weight.map(|weight| weight.texture(&cuda.device)).transpose()?;
        Ok(Moving {
            image: moving.texture(&cuda.device)?.exact,
            weight: weight.map_or(0, |weight| weight.exact),
            weighted: i32::from(weight.is_some()),
            shape: Shape::of(shape),
            per_edge: per_edge(edge_voxels),
        })
    }

    /// Returns this kernel argument with another texture of the moving image, which the texture unit interpolates.
    pub(in crate::cuda) fn filtered(self, cuda: &Cuda, moving: &Image) -> Result<Moving, Error> {
        Ok(Moving { image: moving.texture(&cuda.device)?.filtered, ..self })
    }
}

/// 1 / width of the ramp along each axis. The ramp is the band at the moving image's border in which weights rise from
/// 0 to 1; `edge_voxels` is its width in voxels.
pub(in crate::cuda) fn per_edge(edge_voxels: [f64; 3]) -> Vector {
    Vector(edge_voxels.map(|edge| (1.0 / edge) as f32))
}

/// The 12 numbers of an affine map in single precision, with the layout of the structure `Map` in `cu/points.cuh`.
pub(in crate::cuda) fn map(transform: &AffineTransform) -> [f32; 12] {
    elements(transform).map(|element| element as f32)
}

/// Uploads the maps of a batch of transforms and returns their address on the device.
pub(in crate::cuda) fn uploaded(
    buffer: &mut Option<Buffer<[f32; 12]>>,
    transforms: &[AffineTransform],
    device: &Arc<Device>,
) -> Result<u64, Error> {
    let buffer = grown(buffer, transforms.len(), device)?;
    buffer.upload(&transforms.iter().map(map).collect::<Vec<_>>())?;
    Ok(buffer.pointer())
}
