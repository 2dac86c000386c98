//! What relaxing a pair of fields means, the same on every device: see [`Backend::relax`](crate::Backend::relax).

/// A volume is examined in bricks of so many voxels along each axis.
pub(crate) const BRICK: usize = 8;

/// Voxels along each axis around the place where a changed voxel leads: there the inverse is examined.
pub(crate) const MARGIN: f32 = 3.0;

/// A voxel is corrected where its residual can be brought below the first by moving it no further than the second, voxels.
pub(crate) const CORRECTED: f32 = 0.1;
pub(crate) const CORRECTED_BY: f32 = 1.0;

/// A corner whose determinant is below the limit is moved until it exceeds the limit by the first, by no more than the second
/// in a round, voxels.
pub(crate) const AIM_ABOVE: f32 = 0.3;
pub(crate) const UNFOLDED_BY: f32 = 1.0;

/// Share of the smoothed field at this distance (voxels along each axis) from a voxel beyond the limits: 1 at the voxel,
/// 0 beyond reach.
pub(crate) fn weight(offset: [usize; 3], reach: usize) -> f32 {
    let squared: usize = offset.iter().map(|distance| distance * distance).sum();
    let limit = (reach + 1) * (reach + 1);
    (limit.saturating_sub(squared)) as f32 / limit as f32
}

/// Share of that at a voxel that does not fold but misses its inverse, by its squared residual and the largest one let
/// pass: hardly any just beyond the limit, so that it stops close to it; all of it at three times the limit.
pub(crate) fn pull(residual_squared: f32, largest_squared: f32) -> f32 {
    let excess = residual_squared.sqrt() / largest_squared.sqrt() - 1.0;
    (0.5 * excess + 0.05).min(1.0)
}

/// Bricks along each axis.
pub(crate) fn bricks(shape: [usize; 3]) -> [usize; 3] {
    shape.map(|n| n.div_ceil(BRICK))
}
