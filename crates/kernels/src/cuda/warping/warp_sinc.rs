//! Warps images with windowed sinc interpolation.

use antsreg_core::AffineTransform;

use crate::Error;
use crate::apply::{Window, sinc_table};
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Affine, Launch, Shape, arguments};

pub(in crate::cuda) fn warp_sinc(
    cuda: &Cuda,
    image: &Image,
    field: &Field,
    grid_to_image: &AffineTransform,
    out: &mut Image,
) -> Result<(), Error> {
    Error::check_shape("warp_sinc", field.shape, out.shape)?;
    let table = Buffer::from_slice(&cuda.device, sinc_table(Window::Lanczos).as_flattened())?;
    let kernel = &cuda.kernels.sinc(&cuda.device)?.warp_sinc;
    let bytes = field.bytes() + 4 * (image.len() + out.len()) as u64;
    let launch = Launch::over_blocks(kernel, out.shape, [32, 2, 2], 1, bytes);
    let (source, weights, displacement, target) = (image.read(), table.pointer(), field.read(), out.write());
    let (source_shape, shape) = (Shape::of(image.shape), Shape::of(out.shape));
    let map = Affine::of(grid_to_image);
    // SAFETY: field and output have one shape, and threads outside it return. Voxels of the kernel outside the
    // image are left out. The fraction of an index is less than 1, so its position in the table lies before the
    // last entry.
    unsafe { cuda.launch(launch, arguments![source, source_shape, weights, displacement, map, target, shape]) }
}
