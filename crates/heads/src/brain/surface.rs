//! Surface of a set of voxels, compared with the surface of a ball.

use antsreg_core::Grid;
use rayon::prelude::*;

/// Ratio of the surface of a set to that of a ball with the same volume; 0 for an empty set.
///
/// The surface is two thirds of the area of the faces between voxels in and out of the set, because the voxels' faces
/// of an approximated ball have 3/2 of the ball's area. The border of the grid does not count as surface.
pub fn surface_ratio(grid: &Grid, set: &[bool]) -> f64 {
    let spacing = grid.spacing;
    let voxel_mm3 = spacing.product();
    let [nx, ny, nz] = grid.shape;
    let differ = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    // Counts for one row of voxels: the pairs of adjacent voxels of which only one is in the set, within the row, with
    // the next row, and with the same row of the next slice; and the voxels of the row that are in the set.
    let of_row = |row: usize| {
        let at = |row: usize| &set[row * nx..(row + 1) * nx];
        let this = at(row);
        let to_next = if row % ny + 1 < ny { differ(this, at(row + 1)) } else { 0 };
        let to_slice = if row / ny + 1 < nz { differ(this, at(row + ny)) } else { 0 };
        [differ(this, &this[1..]), to_next, to_slice, this.iter().filter(|inside| **inside).count()]
    };
    let add = |a: [usize; 4], b: [usize; 4]| std::array::from_fn(|n| a[n] + b[n]);
    let [x, y, z, voxels] = (0..ny * nz).into_par_iter().with_min_len(64).map(of_row).reduce(|| [0; 4], add);
    let area_mm2: f64 = [x, y, z].iter().zip(&spacing).map(|(faces, mm)| *faces as f64 * voxel_mm3 / mm).sum();
    let volume_mm3 = voxels as f64 * voxel_mm3;
    let ball_mm2 = (36.0 * std::f64::consts::PI * volume_mm3 * volume_mm3).cbrt();
    if ball_mm2 > 0.0 { area_mm2 / 1.5 / ball_mm2 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the set of voxels whose centres fulfil a condition on their position, mm from the middle of the grid.
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
