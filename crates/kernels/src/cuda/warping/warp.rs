//! Resampling of images through an affine map, or through a displacement field followed by an affine map.

use antsreg_core::AffineTransform;

use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Affine, Argument, Launch, Shape, arguments};
use crate::{Error, Sampling};

/// Largest number of slices that a thread processes, as in `cu/warp.cu`.
const MOST_SLICES: usize = 2;

/// Kernel argument with the layout of the structure `Warp` in `cu/warp.cu`: image, displacement field, output, and map.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Warp {
    image: u64,
    field: u64,
    out: u64,
    image_shape: Shape,
    grid_to_image: Affine,
}
impl Argument for Warp {}

/// Warps one or two images, each through its own field, onto grids of one shape.
pub(in crate::cuda) fn warp<const N: usize>(
    cuda: &Cuda,
    images: [&Image; N],
    fields: [&Field; N],
    grid_to_image: [&AffineTransform; N],
    sampling: Sampling,
    mut out: [&mut Image; N],
) -> Result<(), Error> {
    let shape = fields[0].shape;
    let found = fields.iter().map(|field| field.shape).chain(out.iter().map(|out| out.shape));
    Error::check_shapes("warp", shape, found)?;
    let kernel = match sampling {
        Sampling::Linear => &cuda.kernels.warp(&cuda.device)?.warp_linear,
        Sampling::Nearest => &cuda.kernels.warp(&cuda.device)?.warp_nearest,
    };
    let bytes = fields[0].bytes() + 4 * (images[0].len() + out[0].len()) as u64;
    let slices = cuda.slices_of_threads(N * fields[0].len(), MOST_SLICES);
    let launch = Launch::over_blocks(kernel, shape, [32, 2, 2], slices, bytes).for_sides(N);
    let mut side = |n: usize| Warp {
        image: images[n].read(),
        field: fields[n].read(),
        out: out[n].write(),
        image_shape: Shape::of(images[n].shape),
        grid_to_image: Affine::of(grid_to_image[n]),
    };
    let (first, second, count, shape) = (side(0), side(N - 1), N as i32, Shape::of(shape));
    // SAFETY: fields and outputs have one shape, and threads outside it return. Only voxels within the images'
    // shapes are read.
    unsafe { cuda.launch(launch, arguments![first, second, count, shape, slices]) }
}
