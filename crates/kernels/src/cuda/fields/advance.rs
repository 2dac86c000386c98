//! Steps of displacement fields along their updates.

use super::walk::walk;
use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::launch::{Launch, Shape, arguments, sides};

/// Largest number of slices of a thread that moves a field in place. With more, reads and writes are further apart.
const MOST_SLICES: usize = 4;

/// Moves one displacement field, or two of one shape, along their updates. Each update is scaled so that its longest
/// vector has a given length. The scales stay on the device, so the host does not wait.
pub(in crate::cuda) fn advance<const N: usize>(
    cuda: &Cuda,
    fields: [&mut Field; N],
    updates: [&Field; N],
    step_voxels: f64,
) -> Result<(), Error> {
    let (len, shape) = (updates[0].len(), updates[0].shape);
    let found = fields.iter().map(|field| field.shape).chain(updates.iter().map(|update| update.shape));
    Error::check_shapes("advance", shape, found)?;
    let mut scratch = cuda.scratch();
    // Each thread of this kernel processes four voxels.
    let blocks = (len.div_ceil(4 * 256) as u32).min(8 * cuda.device.info.multiprocessors / N as u32);
    scratch.reserve(&cuda.device, N * blocks as usize)?;
    let launch = Launch::of_blocks(&cuda.kernels.max_norm(&cuda.device)?.max_norm, blocks, 256, updates[0].bytes());
    let (walk, slices) = walk(cuda, &cuda.kernels.compose(&cuda.device)?.advance, updates[0], N, MOST_SLICES);
    let (u, g) = (sides(fields, Field::write), sides(updates, Field::read));
    let (shape, count) = (Shape::of(shape), N as i32);
    let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
    let scales = scratch.scales.pointer();
    // SAFETY: `partial` has one float for each thread block, and `scales` has one factor for each field. Reads are
    // limited to the planes (components) of the fields.
    unsafe {
        cuda.launch(launch.for_sides(N), arguments![g, shape, step_voxels, partial, counter, scales])?;
    }
    // SAFETY: all fields have one shape. Reads are clamped to it, and threads outside it return. A thread reads the
    // displacements of its voxels before it writes them. The launch before this one on the same stream has written
    // `scales`, the factors of the updates.
    unsafe { cuda.launch(walk, arguments![u, g, scales, count, shape, slices]) }
}
