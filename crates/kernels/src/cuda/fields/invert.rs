//! Inversion of displacement fields by fixed-point and Newton steps.

use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::launch::{Launch, Shape, arguments, sides};
use crate::{Error, InversionLimits};

/// Improves the inverses of one or two fields; two fields must have the same shape.
pub(in crate::cuda) fn invert<const N: usize>(
    cuda: &Cuda,
    fields: [&Field; N],
    inverses: [&mut Field; N],
    limits: &InversionLimits,
) -> Result<(), Error> {
    let shape = fields[0].shape;
    let found = fields.iter().map(|field| field.shape).chain(inverses.iter().map(|inverse| inverse.shape));
    Error::check_shapes("invert", shape, found)?;
    let kernel = &cuda.kernels.invert(&cuda.device)?.invert;
    let launch = Launch::over_blocks(kernel, shape, [32, 4, 1], 1, 3 * fields[0].bytes()).for_sides(N);
    let (u, v) = (sides(fields, Field::read), sides(inverses, Field::write));
    let (count, shape, steps) = (N as i32, Shape::of(shape), limits.steps as i32);
    let squares = [limits.tolerance_voxels, limits.untouched_voxels].map(|length| length * length);
    // SAFETY: all fields have one shape. Reads are clamped to it, and threads outside it return.
    unsafe { cuda.launch(launch, arguments![u, v, count, steps, squares, shape]) }
}
