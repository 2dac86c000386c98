//! Checks that two volumes correspond voxel by voxel.

use nalgebra::Point3;

use crate::Grid;

/// Largest difference of two grids that count as equal, in voxels. It allows for headers that store single-precision
/// numbers.
const SAME_GRID_VOXELS: f64 = 1e-2;

/// The error that two volumes lie on different grids, so their voxels do not correspond.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{what} lie on different grids, {} and {}; resample one of the two on the grid of the other first",
    in_words(.grids[0].as_ref()),
    in_words(.grids[1].as_ref())
)]
pub struct GridMismatch {
    /// Names of the two images whose grids differ, for the error message.
    pub what: &'static str,
    /// The grids of the two volumes, on the heap so that a `Result` with this error takes little memory.
    pub grids: [Box<Grid>; 2],
}

/// Describes a grid by its shape, spacing, and positions of the first and last voxel. The positions also show a
/// difference in direction.
fn in_words(grid: &Grid) -> String {
    let [nx, ny, nz] = grid.shape;
    let [sx, sy, sz] = [0, 1, 2].map(|axis| grid.spacing[axis]);
    let corner = |index: [usize; 3]| {
        let [x, y, z]: [f64; 3] = grid.voxel_to_world().apply(&Point3::from(index.map(|i| i as f64))).into();
        format!("({x:.2}, {y:.2}, {z:.2})")
    };
    let (first, last) = (corner([0; 3]), corner(grid.shape.map(|n| n.saturating_sub(1))));
    format!("{nx} × {ny} × {nz} voxels of {sx:.3} × {sy:.3} × {sz:.3} mm from {first} to {last} mm")
}

/// Returns an error if two volumes have different grids.
pub fn same_grid(what: &'static str, first: &Grid, second: &Grid) -> Result<(), GridMismatch> {
    match first.matches(second, SAME_GRID_VOXELS * first.spacing.min()) {
        true => Ok(()),
        false => Err(GridMismatch { what, grids: [Box::new(first.clone()), Box::new(second.clone())] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_may_differ_by_a_hundredth_of_the_smallest_spacing() {
        for spacing in [[0.25, 1.0, 8.0], [32.0, 8.0, 64.0]] {
            let grid = Grid::axis_aligned([4, 5, 6], spacing);
            let smallest = spacing.into_iter().fold(f64::MAX, f64::min);
            let moved = |mm: f64| Grid { origin: Point3::new(0.0, mm, 0.0), ..grid.clone() };
            assert_eq!(same_grid("the images", &grid, &moved(0.009 * smallest)), Ok(()));
            let error = same_grid("the images", &grid, &moved(0.011 * smallest)).unwrap_err();
            assert!(error.to_string().starts_with("the images lie on different grids, 4 × 5 × 6 voxels"), "{error}");
        }
    }
}
