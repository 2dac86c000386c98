//! Planes of device memory: one for an image, three for a displacement field.

use std::sync::Arc;

use super::buffer::Buffer;
use super::device::Device;
use crate::Error;

/// Distance between the planes of a field, in floats. There is padding behind each plane, and the number is a multiple
/// of four.
pub(super) fn plane(shape: [usize; 3]) -> usize {
    (shape.iter().product::<usize>() + 1).next_multiple_of(64)
}

/// Largest number of voxels of a field or image: kernels use 32-bit byte offsets.
const MOST_VOXELS: usize = (1 << 30) - 64;
/// Largest number of voxels along an axis: kernels find the voxel of a coordinate by adding 2²³ to it.
const LONGEST: usize = 1 << 22;

/// Allocates `count` planes for volumes of this shape, filled with zeros or not initialised.
pub(super) fn planes(
    device: &Arc<Device>,
    shape: [usize; 3],
    count: usize,
    zeroed: bool,
) -> Result<Buffer<f32>, Error> {
    let voxels = shape.iter().try_fold(1usize, |voxels, n| voxels.checked_mul(*n));
    if voxels.is_none_or(|voxels| voxels > MOST_VOXELS) || shape.iter().any(|n| *n > LONGEST) {
        return Err(Error::TooLarge { shape, most: MOST_VOXELS });
    }
    if zeroed {
        return Buffer::zeroed(device, count * plane(shape));
    }
    let mut planes = Buffer::uninitialised(device, count * plane(shape))?;
    clear_behind_planes(&mut planes, shape, count)?;
    Ok(planes)
}

/// Sets the padding behind each component of the fields in memory to zero. Kernels may read this padding, with weight
/// zero.
fn clear_behind_planes(planes: &mut Buffer<f32>, shape: [usize; 3], count: usize) -> Result<(), Error> {
    let voxels: usize = shape.iter().product();
    (0..count).try_for_each(|n| planes.clear(n * plane(shape) + voxels..(n + 1) * plane(shape)))
}
