//! What two-dimensional images are to the costs of the linear stage, on every device.

use antsreg_core::AffineTransform;

/// Whether a moving image is one voxel deep and no edge lies along its depth, so that it counts in full in its own plane.
/// With an edge there it is all border, and nothing of it counts.
pub(crate) fn is_slice(moving_shape: [usize; 3], edge_voxels: [f64; 3]) -> bool {
    moving_shape[2] == 1 && edge_voxels[2] == 0.0
}

/// The map with all of its third row 0, if it leads every fixed voxel to index 0; else a map to nowhere.
pub(crate) fn within_slice(fixed_shape: [usize; 3], map: &AffineTransform) -> AffineTransform {
    let moves = |axis: usize| fixed_shape[axis] > 1 && map.matrix[(2, axis)] != 0.0;
    let mut map = *map;
    if map.translation.z != 0.0 || (0..3).any(moves) {
        map.translation.fill(f64::NAN);
    }
    map.matrix.row_mut(2).fill(0.0);
    map
}
