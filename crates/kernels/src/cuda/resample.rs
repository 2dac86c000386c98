//! Resampling of images through an affine map, or through a displacement field followed by an affine map.

use antsreg_core::AffineTransform;

use super::Cuda;
use super::field::Field;
use super::image::Image;
use super::launch::{Affine, Argument, Launch, Shape, arguments};
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

impl Cuda {
    pub(super) fn resample_affine(
        &self,
        image: &Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Image,
    ) -> Result<(), Error> {
        let bytes = 4 * (image.len() + out.len()) as u64;
        let launch = Launch::over_voxels(&self.kernels.resample.resample, out.shape, bytes);
        let (source, target) = (image.read(), out.write());
        let (source_shape, shape, map) = (Shape::of(image.shape), Shape::of(out.shape), Affine::of(out_to_image));
        // SAFETY: only voxels within the image's shape are read, and threads outside the output's shape write nothing.
        unsafe { self.launch(launch, arguments![source, source_shape, map, outside, target, shape]) }
    }

    /// Warps one or two images, each through its own field, onto grids of one shape.
    pub(super) fn warp_images<const N: usize>(
        &self,
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
            Sampling::Linear => &self.kernels.warp.warp_linear,
            Sampling::Nearest => &self.kernels.warp.warp_nearest,
        };
        let bytes = fields[0].bytes() + 4 * (images[0].len() + out[0].len()) as u64;
        let slices = self.slices_of_threads(N * fields[0].len(), MOST_SLICES);
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
        unsafe { self.launch(launch, arguments![first, second, count, shape, slices]) }
    }
}
