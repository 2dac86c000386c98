//! Descriptions of grids in words, for messages and pages.

use antsreg_core::Grid;
use nalgebra::Point3;

/// Shape, spacing, position and orientation of a grid, for messages.
pub fn describe(grid: &Grid) -> String {
    let [nx, ny, nz] = grid.shape;
    let [sx, sy, sz] = grid.spacing.map(rounded).into();
    let [x, y, z] = grid.origin.coords.map(|v| format!("{v:.2}")).into();
    format!(
        "{nx} × {ny} × {nz} voxels of {sx} × {sy} × {sz} mm, {}, first voxel at ({x}, {y}, {z})",
        orientation(grid)
    )
}

/// Rounds to at most four decimals.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Three letters for the directions of the voxel axes: the side of the body towards which each axis runs. RAS means
/// right, anterior, superior. For an oblique grid the nearest directions are given.
pub fn orientation(grid: &Grid) -> String {
    const LETTERS: [[char; 2]; 3] = [['R', 'L'], ['A', 'P'], ['S', 'I']];
    grid.nearest_axes().iter().map(|&(world, against)| LETTERS[world][usize::from(against)]).collect()
}

/// The largest angle between a voxel axis of a grid and the nearest world axis, degrees: 0 for a grid that is not
/// oblique.
pub fn obliquity_degrees(grid: &Grid) -> f64 {
    let cosines = (0..3).map(|axis| grid.direction.column(axis).amax().min(1.0));
    cosines.fold(0.0, |worst: f64, cosine| worst.max(cosine.acos().to_degrees()))
}

/// The text of a world position (mm) for messages.
pub fn position(point: &Point3<f64>) -> String {
    format!("({:.2}, {:.2}, {:.2})", point.x, point.y, point.z)
}

/// Whether the grid of a mask or a label map counts as the grid of its image: no voxel is displaced by more than a
/// twentieth of a voxel. Rounding of headers to single precision displaces voxels by less.
pub fn same(a: &Grid, b: &Grid) -> bool {
    a.matches(b, 0.05 * a.spacing.min())
}

#[cfg(test)]
mod tests {
    use nalgebra::Matrix3;

    use super::*;

    fn grid(direction: Matrix3<f64>) -> Grid {
        Grid { direction, ..Grid::axis_aligned([4, 5, 6], [1.0, 1.5, 2.0]) }
    }

    #[test]
    fn letters_say_where_the_axes_run() {
        assert_eq!(orientation(&grid(Matrix3::identity())), "RAS");
        let lps = Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into());
        assert_eq!(orientation(&grid(lps)), "LPS");
        // The voxel axes of this grid run towards anterior, superior and left.
        let asl = Matrix3::new(0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
        assert_eq!(orientation(&grid(asl)), "ASL");
        let tilted = nalgebra::Rotation3::from_euler_angles(0.6, 0.0, 0.0).into_inner();
        assert_eq!(orientation(&grid(tilted)), "RAS");
        assert!((obliquity_degrees(&grid(tilted)) - 0.6f64.to_degrees()).abs() < 1e-9);
    }

    #[test]
    fn a_grid_in_words() {
        let text = describe(&grid(Matrix3::identity()));
        assert_eq!(text, "4 × 5 × 6 voxels of 1 × 1.5 × 2 mm, RAS, first voxel at (0.00, 0.00, 0.00)");
    }
}
