//! Constants and weights of [`Backend::relax`](crate::Backend::relax), which all devices share.

/// Edge of the bricks in which a volume is examined, voxels.
pub(crate) const BRICK: usize = 8;

/// Distance along each axis from the image of a changed voxel up to which the inverse is examined, voxels.
pub(crate) const MARGIN: f32 = 3.0;

/// Limits of a correction: a voxel is corrected if its residual becomes smaller than the first number when it moves
/// by at most the second, voxels.
pub(crate) const CORRECTED: f32 = 0.1;
pub(crate) const CORRECTED_BY: f32 = 1.0;

/// Limits of unfolding: a corner whose determinant is below the limit is moved until it exceeds the limit by the
/// first number, and in one round by at most the second, voxels.
pub(crate) const AIM_ABOVE: f32 = 0.3;
pub(crate) const UNFOLDED_BY: f32 = 1.0;

/// Share of the smoothed field at this distance (voxels along each axis) from a voxel beyond the limits: 1 at the
/// voxel, 0 beyond `reach`.
pub(crate) fn weight(offset: [usize; 3], reach: usize) -> f32 {
    let squared: usize = offset.iter().map(|distance| distance * distance).sum();
    let limit = (reach + 1) * (reach + 1);
    (limit.saturating_sub(squared)) as f32 / limit as f32
}

/// Further factor of that share at a voxel that does not fold but deviates from the inverse, from its squared
/// residual and the squared limit. Just beyond the limit the factor is small, so that the voxel stops close to the
/// limit; from three times the limit on it is 1.
pub(crate) fn pull(residual_squared: f32, largest_squared: f32) -> f32 {
    let excess = residual_squared.sqrt() / largest_squared.sqrt() - 1.0;
    (0.5 * excess + 0.05).min(1.0)
}

/// Number of bricks along each axis.
pub(crate) fn bricks(shape: [usize; 3]) -> [usize; 3] {
    shape.map(|n| n.div_ceil(BRICK))
}
