//! How [`Backend::relax`](crate::Backend::relax) spreads from a voxel beyond its limits, the same on every device.

/// Variance of the Gaussian towards which a neighbourhood is drawn, voxels².
pub(crate) const VARIANCE: f64 = 1.0;

/// Voxels along each axis that one voxel reaches.
pub(crate) const REACH: usize = 1;

/// Share of the smoothed field at this distance (voxels along each axis) from it: 1 at the voxel, 0 beyond reach.
pub(crate) fn weight(offset: [usize; 3]) -> f32 {
    let squared: usize = offset.iter().map(|distance| distance * distance).sum();
    let limit = (REACH + 1) * (REACH + 1);
    (limit.saturating_sub(squared)) as f32 / limit as f32
}

/// Share of that at a voxel that does not fold but misses its inverse, by its squared residual and the largest one let
/// pass: hardly any just beyond the limit, so that it stops close to it; all of it at three times the limit.
pub(crate) fn pull(residual_squared: f32, largest_squared: f32) -> f32 {
    let excess = residual_squared.sqrt() / largest_squared.sqrt() - 1.0;
    (0.5 * excess + 0.05).min(1.0)
}
