//! Warping of images with interpolation by cubic splines.

use antsreg_core::AffineTransform;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Affine, Launch, Shape, arguments};

pub(in crate::cuda) fn warp_spline(
    cuda: &Cuda,
    coefficients: &Image,
    field: &Field,
    grid_to_image: &AffineTransform,
    out: &mut Image,
) -> Result<(), Error> {
    Error::check_shape("warp_spline", field.shape, out.shape)?;
    let kernel = &cuda.kernels.spline(&cuda.device)?.warp_spline;
    let bytes = field.bytes() + 4 * (coefficients.len() + out.len()) as u64;
    let launch = Launch::over_blocks(kernel, out.shape, [32, 2, 2], 1, bytes);
    let (source, displacement, target) = (coefficients.read(), field.read(), out.write());
    let (source_shape, shape) = (Shape::of(coefficients.shape), Shape::of(out.shape));
    let map = Affine::of(grid_to_image);
    // SAFETY: field and output have one shape, and threads outside it return. Only coefficients within their own
    // shape are read.
    unsafe { cuda.launch(launch, arguments![source, source_shape, displacement, map, target, shape]) }
}
