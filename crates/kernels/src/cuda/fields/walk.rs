//! Launches of threads that process several slices of fields.

use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::launch::Launch;
use crate::cuda::module::Kernel;

/// Prepares a launch of threads that process several slices each, at most `most`. Also returns the number of slices of
/// a thread.
pub(in crate::cuda) fn walk<'a>(
    cuda: &Cuda,
    kernel: &'a Kernel,
    field: &Field,
    sides: usize,
    most: usize,
) -> (Launch<'a>, i32) {
    let slices = cuda.slices_of_threads(sides * field.len(), most);
    let launch = Launch::over_blocks(kernel, field.shape, [32, 8, 1], slices, 3 * field.bytes());
    (launch.for_sides(sides), slices)
}
