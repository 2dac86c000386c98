//! The grid of the common space.

use antsreg_core::{AffineTransform, Grid};
use nalgebra::{Matrix3, Point3, Vector3};

/// A grid of the common space that contains all time points and favours none. Each time point is given by its grid, the
/// first and last voxel of its content along each axis, and its pose (common space → time point). The axes are those of
/// the world. The spacing along a world axis is the geometric mean of the spacings of the time points along their axes
/// that are nearest to it. `margin_mm` is added on every side. `None` without a time point, or if a pose is singular.
pub fn common_grid(images: &[(&Grid, [[usize; 3]; 2], AffineTransform)], margin_mm: f64) -> Option<Grid> {
    let (mut low, mut high) = (Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY));
    let mut log_spacing = Vector3::zeros();
    for (grid, bounds, pose) in images {
        let to_common = pose.inverse()?.after(&grid.voxel_to_world());
        for corner in 0..8_usize {
            let index = Vector3::from_fn(|axis, _| bounds[corner >> axis & 1][axis] as f64);
            let point = to_common.apply(&Point3::from(index)).coords;
            low = low.inf(&point);
            high = high.sup(&point);
        }
        for (axis, (world, _)) in grid.nearest_axes().into_iter().enumerate() {
            log_spacing[world] += grid.spacing[axis].ln();
        }
    }
    let spacing = (log_spacing / images.len().max(1) as f64).map(f64::exp);
    let middle = (low + high) / 2.0;
    let voxels = |axis: usize| (((high - low)[axis] + 2.0 * margin_mm) / spacing[axis]).ceil().max(0.0) as usize + 1;
    let shape: [usize; 3] = std::array::from_fn(voxels);
    let origin =
        Point3::from(Vector3::from_fn(|axis, _| middle[axis] - spacing[axis] * (shape[axis] - 1) as f64 / 2.0));
    let found = Grid { shape, spacing, origin, direction: Matrix3::identity() };
    (!images.is_empty() && found.spacing.iter().chain(found.origin.iter()).all(|value| value.is_finite()))
        .then_some(found)
}
