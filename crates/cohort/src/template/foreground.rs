//! Bright voxels of an image, and a grid that contains its foreground (head or brain).

use antsreg_core::{Grid, Volume};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use super::brightness::foreground_in;

/// Mask: 1 where an image is brighter than the threshold `than`, else 0.
pub fn brighter(image: &Volume, than: f32) -> Volume {
    let voxels = image.voxels.par_iter().map(|value| if *value > than { 1.0 } else { 0.0 }).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// A grid that contains the foreground of an image plus `margin_mm` on every side. The foreground is brighter than a
/// tenth of the intensity range without outliers. The grid has the image's axes and voxel size. An axis with one voxel
/// (a slice) stays as it is. If the image has no foreground, the result is the image's own grid.
pub fn grid_around(image: &Volume, margin_mm: f64) -> Grid {
    let Some([first, last]) = image.bounds_above(foreground_in(image)) else {
        return image.grid.clone();
    };
    let margin: [f64; 3] = std::array::from_fn(|axis| match image.grid.shape[axis] {
        1 => 0.0,
        _ => (margin_mm / image.grid.spacing[axis]).ceil(),
    });
    let start = Vector3::from_fn(|axis, _| first[axis] as f64 - margin[axis]);
    Grid {
        shape: std::array::from_fn(|axis| last[axis] - first[axis] + 1 + 2 * margin[axis] as usize),
        origin: image.grid.voxel_to_world().apply(&Point3::from(start)),
        ..image.grid.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_holds_what_is_brighter_than_the_threshold() {
        let grid = Grid::axis_aligned([5, 1, 1], [1.0; 3]);
        let image = Volume { grid: grid.clone(), voxels: vec![-3.0, 2.0, 1.9, 2.1, f32::NAN] };
        assert_eq!(brighter(&image, 2.0), Volume { grid, voxels: vec![0.0, 0.0, 0.0, 1.0, 0.0] });
    }

    #[test]
    fn the_grid_holds_what_is_bright() {
        let grid = Grid {
            direction: nalgebra::Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)),
            ..Grid::axis_aligned([10, 8, 9], [1.0, 2.0, 1.0])
        };
        let mut image = Volume::filled(grid.clone(), 0.0);
        for (i, j, k) in (2..7).flat_map(|i| (2..7).flat_map(move |j| (4..6).map(move |k| (i, j, k)))) {
            image.voxels[(k * 8 + j) * 10 + i] = 100.0;
        }
        let around = grid_around(&image, 3.0);
        // Expected shape of the grid with a margin of 3 mm: along x, 5 foreground voxels of 1 mm and 3 more on both
        // sides; along y, 5 foreground voxels of 2 mm and 2 more on both sides.
        assert_eq!(around.shape, [11, 9, 8]);
        // The x axis of the test grid points to the left.
        assert_eq!(around.origin, Point3::new(1.0, 0.0, 1.0));
        assert_eq!(grid_around(&Volume::filled(grid.clone(), 1.0), 3.0), grid);
    }

    #[test]
    fn a_slice_stays_a_slice() {
        let mut image = Volume::filled(Grid::axis_aligned([10, 8, 1], [1.0, 1.0, 3.0]), 0.0);
        (33..36).chain(43..46).for_each(|n| image.voxels[n] = 100.0);
        assert_eq!(grid_around(&image, 2.0).shape, [7, 6, 1]);
    }
}
