//! Tests of the grids of resolution levels.

use super::*;

/// An oblique grid with voxels of three sizes.
pub(crate) fn grid() -> Grid {
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
fn oblique_grids_contain_the_field_of_view() {
    for (shape, thickness) in [([31, 40, 17], 2.0), ([31, 40, 1], 3.0)] {
        let from = Grid { shape, ..grid() };
        let to = oblique(&from, 2.0);
        assert_eq!(to.spacing, Vector3::new(2.0, 2.0, thickness));
        assert!((to.centre() - from.centre()).norm() < 1e-9);
        let voxel = to.world_to_voxel().after(&from.voxel_to_world());
        for corner in 0..8 {
            let index = Vector3::from_fn(|axis, _| [-0.49, shape[axis] as f64 - 0.51][corner >> axis & 1]);
            assert!(to.holds(&voxel.apply(&Point3::from(index))), "{shape:?}, {index}");
        }
        // A row of ten voxels ends more than one voxel beside the row of the image that it begins in.
        let cosines = from.direction.transpose() * to.direction;
        for axis in 0..if from.is_slice() { 2 } else { 3 } {
            assert!(cosines[(axis, axis)] < 0.98 && cosines[(axis, axis)] > 0.9, "{cosines}");
        }
    }
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
fn axes_halfway_between_two_directions_keep_their_order() {
    let from = Grid::axis_aligned([31, 40, 17], [1.0; 3]);
    assert_eq!(reordered(&from, &Matrix3::new(1.0, -1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)), from);
}

#[test]
fn spacings_that_differ_by_more_than_a_thousandth_make_another_grid() {
    let from = Grid::axis_aligned([10, 20, 30], [1e-3; 3]);
    let to = centred(&from, Vector3::repeat(2e-3));
    assert_eq!((to.shape, to.spacing), ([5, 10, 15], Vector3::repeat(2e-3)));
    assert_eq!(centred(&from, Vector3::repeat(1.0009e-3)), from);
}

#[test]
fn slices_keep_their_normal_as_the_third_axis() {
    let slice = Grid { shape: [31, 40, 1], ..grid() };
    let [x, y, z] = [0, 1, 2].map(|axis| slice.direction.column(axis).into_owned());
    assert_eq!(reordered(&slice, &Matrix3::from_columns(&[y, -x, z])).shape, [40, 31, 1]);
    assert_eq!(reordered(&slice, &Matrix3::from_columns(&[z, y, x])).shape, [31, 40, 1]);
}
