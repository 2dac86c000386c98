//! Rules for the costs of the linear stage when slices are registered. The rules are the same on every device.

use antsreg_core::AffineTransform;

/// Whether a moving image is sampled as a slice: its depth is one voxel, and weights do not rise from 0 at the border
/// along the depth (no ramp). Then points in the plane of the slice have full weight. With a ramp along the depth,
/// every voxel would be at the border and have no weight.
pub(crate) fn is_slice(moving_shape: [usize; 3], edge_voxels: [f64; 3]) -> bool {
    moving_shape[2] == 1 && edge_voxels[2] == 0.0
}

/// A map for slices: the given map with third row 0 if it maps every fixed voxel to index 0 along the third axis;
/// otherwise a map to NaN, so that no voxel counts.
pub(crate) fn within_slice(fixed_shape: [usize; 3], map: &AffineTransform) -> AffineTransform {
    let moves = |axis: usize| fixed_shape[axis] > 1 && map.matrix[(2, axis)] != 0.0;
    let mut map = *map;
    if map.translation.z != 0.0 || (0..3).any(moves) {
        map.translation.fill(f64::NAN);
    }
    map.matrix.row_mut(2).fill(0.0);
    map
}
