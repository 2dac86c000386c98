//! The surface of a set of voxels.

use antsreg_core::Grid;

/// The surface of a set over the surface of a ball of its volume; 0 for an empty set.
///
/// The surface is two thirds of the area of the faces between voxels in and out of the set: faces of voxels that approximate a
/// ball have 3/2 of its area. The border of the grid is no surface.
pub fn surface_ratio(grid: &Grid, set: &[bool]) -> f64 {
    let spacing = grid.spacing;
    let voxel_mm3 = spacing.product();
    let mut stride = 1;
    let mut area_mm2 = 0.0;
    for axis in 0..3 {
        let length = grid.shape[axis];
        let faces = (0..set.len()).filter(|at| at / stride % length + 1 < length && set[*at] != set[*at + stride]);
        area_mm2 += faces.count() as f64 * voxel_mm3 / spacing[axis];
        stride *= length;
    }
    let volume_mm3 = set.iter().filter(|inside| **inside).count() as f64 * voxel_mm3;
    let ball_mm2 = (36.0 * std::f64::consts::PI * volume_mm3 * volume_mm3).cbrt();
    if ball_mm2 > 0.0 { area_mm2 / 1.5 / ball_mm2 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Voxels whose centres fulfil a condition, by their place in mm from the middle.
    fn set(grid: &Grid, inside: impl Fn([f64; 3]) -> bool) -> Vec<bool> {
        let [nx, ny, nz] = grid.shape;
        let mm = |n: usize, axis: usize| (n as f64 - (grid.shape[axis] as f64 - 1.0) / 2.0) * grid.spacing[axis];
        (0..nx * ny * nz).map(|n| inside([mm(n % nx, 0), mm(n / nx % ny, 1), mm(n / nx / ny, 2)])).collect()
    }

    #[test]
    fn a_ball_has_one_and_other_shapes_have_more() {
        let grid = Grid::axis_aligned([80, 60, 40], [1.0, 1.5, 2.0]);
        let ball = set(&grid, |[x, y, z]| x * x + y * y + z * z < 900.0);
        assert!((surface_ratio(&grid, &ball) - 1.0).abs() < 0.03, "{}", surface_ratio(&grid, &ball));
        let leaky =
            set(&grid, |[x, y, z]| x * x + y * y + z * z < 900.0 && (x.abs() < 15.0 || y.rem_euclid(6.0) < 3.0));
        assert!(surface_ratio(&grid, &leaky) > 1.3);
        assert_eq!(surface_ratio(&grid, &vec![false; grid.len()]), 0.0);
    }
}
