//! Images on another grid: through an affine map, and through a field followed by an affine map.

use antsreg_core::AffineTransform;

use super::Cuda;
use super::field::Field;
use super::image::Image;
use super::launch::{Affine, Launch, Shape, arguments};
use crate::{Error, Sampling};

/// As in `cu/warp.cu`.
const MOST_SLICES: usize = 2;

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
        // SAFETY: reads are kept to the image's shape, threads outside the output's write nothing.
        unsafe { self.launch(launch, arguments![source, source_shape, map, outside, target, shape]) }
    }

    pub(super) fn warp_image(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp", field.shape, out.shape)?;
        let kernel = match sampling {
            Sampling::Linear => &self.kernels.warp.warp_linear,
            Sampling::Nearest => &self.kernels.warp.warp_nearest,
        };
        let bytes = field.bytes() + 4 * (image.len() + out.len()) as u64;
        let slices = self.slices_of_threads(out.shape, MOST_SLICES);
        let launch = Launch::over_blocks(kernel, out.shape, [32, 2, 2], slices, bytes);
        let (source, displacement, target) = (image.read(), field.read(), out.write());
        let (source_shape, shape, map) = (Shape::of(image.shape), Shape::of(out.shape), Affine::of(grid_to_image));
        // SAFETY: field and output have one shape, threads outside it return; reads are kept to the image's shape.
        unsafe { self.launch(launch, arguments![source, source_shape, displacement, map, target, shape, slices]) }
    }
}
