//! Tests of the grids and the blur of resolution levels.

use nalgebra::Rotation3;

use super::*;

fn grid() -> Grid {
    let mut grid = Grid::axis_aligned([31, 40, 17], [1.0, 0.9, 3.0]);
    grid.origin = Point3::new(5.0, -60.0, 22.0);
    grid.direction = Rotation3::from_euler_angles(0.2, -0.1, 0.3).into_inner();
    grid
}

#[test]
fn isotropic_grids_fill_the_field_of_view() {
    for mm in [1.0, 2.0, 4.0, 8.0] {
        let (from, to) = (grid(), isotropic(&grid(), mm));
        assert_eq!(to.spacing, Vector3::from_element(mm));
        assert!((to.centre() - from.centre()).norm() < 1e-9);
        for axis in 0..3 {
            let (before, after) = (from.shape[axis] as f64 * from.spacing[axis], to.shape[axis] as f64 * mm);
            assert!(after <= before + 1e-2 && after > before - mm, "{after} mm of {before} mm");
        }
    }
    let own = Grid { spacing: Vector3::from_element(2.0), ..grid() };
    assert_eq!(isotropic(&own, 2.0), own, "a grid of that spacing is left as it is");
}

#[test]
fn thinning_keeps_two_voxels_in_the_blur() {
    assert_eq!(thinned(&grid(), 2.0).spacing, Vector3::new(1.0, 0.9, 3.0));
    assert_eq!(thinned(&grid(), 8.0).spacing, Vector3::new(4.0, 3.6, 3.0));
    assert_eq!(thinned(&grid(), 1.0), grid());
}

#[test]
fn reordered_axes_follow_the_directions_and_leave_every_voxel_in_place() {
    let from = grid();
    // The permutation that the matrix describes: the new x axis must be the old third axis, and the new y axis the old
    // first axis, reversed.
    let directions = from.direction
        * Rotation3::from_euler_angles(0.1, -0.2, 0.1).into_inner()
        * Matrix3::new(0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0);
    let to = reordered(&from, &directions);
    assert_eq!(to.shape, [17, 31, 40]);
    let (a, b) = (from.voxel_to_world(), to.voxel_to_world());
    let (here, there) = (a.apply(&Point3::new(3.0, 7.0, 11.0)), b.apply(&Point3::new(11.0, 3.0, 7.0)));
    assert!((here - there).norm() < 1e-9);
    assert_eq!(reordered(&from, &from.direction), from);
}

#[test]
fn blur_leaves_detail_of_the_level() {
    let sigma = sigma_voxels(&grid(), 2.0);
    assert!((sigma[0] * FWHM - 3.0f64.sqrt()).abs() < 1e-9, "variances of blur and voxel add up to the level's");
    assert_eq!(sigma[2], 0.0);
}
