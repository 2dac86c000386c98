//! Constants and weights of [`Relaxation::relax`](crate::ops::Relaxation::relax), which all devices share.

/// Number of voxels along each edge of the bricks in which a volume is examined.
pub(crate) const BRICK: usize = 8;

/// After a voxel is changed, the inverse field is computed again around the position to which the voxel is mapped: in
/// all bricks within this distance along each axis, voxels.
pub(crate) const MARGIN: f32 = 3.0;

/// Limits of setting a voxel to the inverse of the other field, in voxels. It is done only if the residual of the voxel
/// becomes at most `CORRECTED`, and its displacement changes by at most `CORRECTED_BY`.
pub(crate) const CORRECTED: f32 = 0.1;
pub(crate) const CORRECTED_BY: f32 = 1.0;

/// Two limits of unfolding. Voxels at a cell corner whose determinant is below the accepted minimum are displaced until
/// the determinant exceeds this minimum by `AIM_ABOVE`. In one round they are displaced by at most `UNFOLDED_BY`, in
/// voxels.
pub(crate) const AIM_ABOVE: f32 = 0.3;
pub(crate) const UNFOLDED_BY: f32 = 1.0;

/// Share of the smoothed field in the new displacement of a voxel near another voxel that folds or has too large a
/// residual. `offset` is the distance between both, in voxels along each axis. At a distance of d voxels the share is 1
/// − d²/(reach + 1)², at least 0.
pub(crate) fn weight(offset: [usize; 3], reach: usize) -> f32 {
    let squared: usize = offset.iter().map(|distance| distance * distance).sum();
    let limit = (reach + 1) * (reach + 1);
    (limit.saturating_sub(squared)) as f32 / limit as f32
}

/// Factor of the smoothed field's share around a voxel that does not fold, but deviates from the inverse of the other
/// field. Just beyond the limit of the residual the factor is small, so that smoothing changes the displacement little.
/// From three times the limit on, the factor is 1. Both arguments are squared: the residual of the voxel and its limit.
pub(crate) fn pull(residual_squared: f32, largest_squared: f32) -> f32 {
    let excess = residual_squared.sqrt() / largest_squared.sqrt() - 1.0;
    (0.5 * excess + 0.05).min(1.0)
}

/// Number of bricks of a volume along each axis.
pub(crate) fn bricks(shape: [usize; 3]) -> [usize; 3] {
    shape.map(|n| n.div_ceil(BRICK))
}
