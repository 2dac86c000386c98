//! Tests of grids and affine maps against their definitions.

use antsreg_core::{AffineTransform, Grid, GridError, Volume};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use proptest::prelude::*;

/// Tolerance, mm: bound on the rounding error of coordinates of about 1000 mm in double precision.
const ROUNDING_MM: f64 = 1e-9;

fn any_grid() -> impl Strategy<Value = Grid> {
    let axis = || (1..40usize, 0.1..5.0f64, -300.0..300.0f64, -3.2..3.2f64);
    (axis(), axis(), axis(), any::<bool>()).prop_map(|(x, y, z, reflected)| {
        let turn = Rotation3::from_euler_angles(x.3, y.3, z.3).into_inner();
        let sign = if reflected { -1.0 } else { 1.0 };
        Grid {
            shape: [x.0, y.0, z.0],
            spacing: Vector3::new(x.1, y.1, z.1),
            origin: Point3::new(x.2, y.2, z.2),
            direction: turn * Matrix3::from_diagonal(&Vector3::new(1.0, sign, 1.0)),
        }
    })
}

proptest! {
    #[test]
    fn a_voxel_lies_at_its_steps_from_the_origin(grid in any_grid(), i in 0..40usize, j in 0..40usize, k in 0..40usize) {
        let index = [i, j, k];
        let mut expected = grid.origin;
        for axis in 0..3 {
            expected += grid.direction.column(axis) * (grid.spacing[axis] * index[axis] as f64);
        }
        let mut at = Point3::new(i as f64, j as f64, k as f64);
        let found = grid.voxel_to_world().apply(&at);
        prop_assert!((found - expected).norm() < ROUNDING_MM);
        if grid.shape[2] == 1 && grid.shape[0] > 1 && grid.shape[1] > 1 {
            // A point of a two-dimensional image (slice) has no index along the third axis, so the index 0 is expected.
            at.z = 0.0;
        }
        prop_assert!((grid.world_to_voxel().apply(&found) - at).norm() < ROUNDING_MM);
    }

    #[test]
    fn a_grid_comes_back_from_its_map(grid in any_grid()) {
        let back = Grid::from_voxel_to_world(grid.shape, &grid.voxel_to_world()).unwrap();
        prop_assert!((back.direction - grid.direction).amax() < 1e-12);
        prop_assert!((back.spacing - grid.spacing).amax() < 1e-12);
        prop_assert!(back.matches(&grid, ROUNDING_MM));
    }

    #[test]
    fn axes_rounded_to_single_precision_become_orthonormal(grid in any_grid()) {
        let mut map = grid.voxel_to_world();
        map.matrix = map.matrix.map(|value| f64::from(value as f32));
        let back = Grid::from_voxel_to_world(grid.shape, &map).unwrap();
        prop_assert!((back.direction.transpose() * back.direction - Matrix3::identity()).amax() < 1e-12);
        // Tolerance: the directions of the voxel axes were rounded to single precision, which has 24 bits.
        prop_assert!((back.direction - grid.direction).amax() < 1e-6);
    }

    #[test]
    fn a_coarser_grid_has_the_same_middle(grid in any_grid(), mut factors in [1..5usize, 1..5usize, 1..5usize]) {
        let coarse = grid.shrink(factors);
        if grid.is_slice() {
            factors[2] = 1;
        }
        prop_assert!((coarse.centre() - grid.centre()).norm() < ROUNDING_MM);
        for axis in 0..3 {
            prop_assert_eq!(coarse.shape[axis], (grid.shape[axis] / factors[axis]).max(1));
            prop_assert!((coarse.spacing[axis] - grid.spacing[axis] * factors[axis] as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn maps_combine_and_invert(a in any_grid(), b in any_grid(), x in -200.0..200.0f64) {
        let (a, b) = (a.voxel_to_world(), b.voxel_to_world());
        let point = Point3::new(x, 2.0 * x, 30.0 - x);
        let one_by_one = a.apply(&b.apply(&point));
        prop_assert!((a.after(&b).apply(&point) - one_by_one).norm() < ROUNDING_MM);
        prop_assert!((a.inverse().unwrap().apply(&a.apply(&point)) - point).norm() < ROUNDING_MM);
        prop_assert_eq!(AffineTransform::from_homogeneous(&a.to_homogeneous()), a);
    }
}

#[test]
fn grids_that_cannot_be() {
    let grid =
        |matrix, shape| Grid::from_voxel_to_world(shape, &AffineTransform { matrix, translation: Vector3::zeros() });
    let identity = Matrix3::identity();
    assert!(matches!(grid(identity, [3, 0, 3]), Err(GridError::Empty(_))));
    assert!(matches!(grid(Matrix3::zeros(), [3; 3]), Err(GridError::Singular(_))));
    assert!(matches!(grid(identity * f64::NAN, [3; 3]), Err(GridError::NotFinite)));
    let shear = |amount| grid(Matrix3::new(1.0, amount, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), [3; 3]);
    assert!(matches!(shear(0.05), Err(GridError::Sheared(cosine)) if (cosine - 0.05).abs() < 1e-4));
    assert!(matches!(shear(-0.05), Err(GridError::Sheared(_))));
    assert!(shear(1e-5).is_ok(), "rounding in a header is no shear");
    // Two axes with the same direction.
    assert!(matches!(
        grid(Matrix3::new(1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), [3; 3]),
        Err(GridError::Singular([1.0, 2.0, 1.0]))
    ));
}

#[test]
fn axes_may_differ_from_a_right_angle_by_a_cosine_of_one_thousandth() {
    let with_cosine = |cosine: f64| {
        let matrix = Matrix3::new(1.0, cosine, 0.0, 0.0, (1.0 - cosine * cosine).sqrt(), 0.0, 0.0, 0.0, 1.0);
        assert_eq!(matrix.column(1).norm(), 1.0, "so that the cosine is exact");
        Grid::from_voxel_to_world([3; 3], &AffineTransform { matrix, translation: Vector3::zeros() })
    };
    let grid = with_cosine(1e-3).unwrap();
    assert!((grid.direction.transpose() * grid.direction - Matrix3::identity()).amax() < 1e-12);
    assert_eq!(with_cosine(1.25e-3), Err(GridError::Sheared(1.25e-3)));
}

#[test]
fn a_grid_ends_half_a_voxel_beyond_its_outermost_centres() {
    let grid = Grid::axis_aligned([4, 5, 6], [1.0; 3]);
    for axis in 0..3 {
        let holds = |index: f64| {
            let mut at = Point3::new(1.0, 1.0, 1.0);
            at[axis] = index;
            grid.holds(&at)
        };
        let end = grid.shape[axis] as f64 - 0.5;
        assert!(holds(-0.5) && holds(end - 1e-9), "along {axis}");
        assert!(!holds(-0.5 - 1e-9) && !holds(end) && !holds(f64::NAN), "along {axis}");
    }
}

#[test]
fn a_grid_without_voxels_is_empty() {
    for (shape, is_empty) in [([1, 1, 1], false), ([2, 3, 4], false), ([0, 3, 4], true), ([2, 3, 0], true)] {
        assert_eq!(Grid::axis_aligned(shape, [1.0; 3]).is_empty(), is_empty, "{shape:?}");
    }
}

#[test]
fn a_slice_has_one_voxel_along_its_third_axis_only() {
    for (shape, is_slice) in
        [([2, 2, 1], true), ([1, 2, 1], false), ([2, 1, 1], false), ([2, 1, 2], false), ([2, 2, 2], false)]
    {
        assert_eq!(Grid::axis_aligned(shape, [1.0; 3]).is_slice(), is_slice, "{shape:?}");
    }
}

#[test]
fn a_slice_lies_across_z_unless_it_is_tilted() {
    let tilted = |shape: [usize; 3], angle: f64| Grid {
        direction: Rotation3::from_euler_angles(angle, 0.0, 0.3).into_inner(),
        ..Grid::axis_aligned(shape, [1.0; 3])
    };
    // The sine of the angle counts as zero up to 0.001 (times √2), as for the angle between two axes.
    assert!(tilted([4, 5, 1], 0.0).is_slice_across_z());
    assert!(tilted([4, 5, 1], 1e-3).is_slice_across_z());
    assert!(tilted([4, 5, 1], std::f64::consts::PI).is_slice_across_z());
    assert!(!tilted([4, 5, 1], 2e-3).is_slice_across_z());
    assert!(!tilted([4, 5, 1], 1.5).is_slice_across_z());
    assert!(!tilted([4, 5, 2], 0.0).is_slice_across_z());
}

#[test]
fn every_voxel_axis_gets_the_nearest_world_axis() {
    // For every order and all signs of the axes, turned by up to 0.6 rad: the nearest axes stay the same.
    let turn = Rotation3::from_euler_angles(0.2, -0.4, 0.4).into_inner();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for signs in 0..8 {
            let expected: [(usize, bool); 3] = std::array::from_fn(|axis| (order[axis], signs >> axis & 1 == 1));
            let columns = expected.map(|(world, against)| Vector3::ith(world, if against { -1.0 } else { 1.0 }));
            for direction in [Matrix3::from_columns(&columns), turn * Matrix3::from_columns(&columns)] {
                let grid = Grid { direction, ..Grid::axis_aligned([4, 5, 6], [1.0; 3]) };
                assert_eq!(grid.nearest_axes(), expected, "{direction}");
            }
        }
    }
}

#[test]
fn grids_match_when_every_corner_does() {
    let grid = Grid::axis_aligned([11, 21, 31], [1.0; 3]);
    assert!(grid.matches(&grid, 0.0));
    let mut turned = grid.clone();
    turned.direction = Rotation3::from_euler_angles(0.0, 0.0, 0.01).into_inner();
    // The rotation by 0.01 rad moves the farthest corner by 0.01 · 20 mm, because the grid is 20 mm long along the
    // second axis.
    assert!(turned.matches(&grid, 0.201) && !turned.matches(&grid, 0.199));
    assert!(!Grid::axis_aligned([11, 21, 30], [1.0; 3]).matches(&grid, 1e9));
}

#[test]
fn range_of_a_volume() {
    let grid = Grid::axis_aligned([2, 2, 1], [1.0; 3]);
    let range = |voxels: [f32; 4]| Volume { grid: grid.clone(), voxels: voxels.into() }.range();
    assert_eq!(range([3.0, -1.0, 2.0, 0.0]), Some((-1.0, 3.0)));
    assert_eq!(range([f32::NAN, 5.0, 5.0, f32::NAN]), Some((5.0, 5.0)));
    assert_eq!(range([f32::NAN; 4]), None);
}

#[test]
fn centre_of_mass_is_in_world_mm() {
    let grid = Grid {
        origin: Point3::new(10.0, 20.0, 30.0),
        direction: Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)),
        ..Grid::axis_aligned([4, 3, 5], [2.0, 3.0, 4.0])
    };
    // All voxels have intensity 7, except 10 at (3, 1, 0) and 8 at (0, 2, 4). The centre of mass weights voxels by
    // their intensity above the darkest voxel, so these two voxels have the weights 3 and 1.
    let mut volume = Volume::filled(grid, 7.0);
    assert_eq!(volume.centre_of_mass(), None);
    volume.voxels[3 + 4] = 10.0;
    volume.voxels[4 * (2 + 3 * 4)] = 8.0;
    let index = Vector3::new(3.0 * 3.0, 3.0 + 2.0, 4.0) / 4.0;
    let expected = Point3::new(10.0 - 2.0 * index.x, 20.0 + 3.0 * index.y, 30.0 + 4.0 * index.z);
    assert!((volume.centre_of_mass().unwrap() - expected).norm() < 1e-12);
}

#[test]
fn centre_of_gravity_weights_by_intensity() {
    let grid = Grid { origin: Point3::new(10.0, 20.0, 30.0), ..Grid::axis_aligned([4, 3, 5], [2.0, 3.0, 4.0]) };
    let mut volume = Volume::filled(grid.clone(), 0.0);
    assert_eq!(volume.centre_of_gravity(), None);
    // Equal intensities have their centre in the middle of the grid, although they have no centre of mass.
    let middle = Volume::filled(grid.clone(), 7.0).centre_of_gravity().expect("weights");
    assert!((middle - grid.centre()).norm() < 1e-12);
    // Intensity 3 at (3, 1, 0) and 1 at (0, 2, 4).
    volume.voxels[3 + 4] = 3.0;
    volume.voxels[4 * (2 + 3 * 4)] = 1.0;
    let index = Point3::new(9.0 / 4.0, 5.0 / 4.0, 4.0 / 4.0);
    let expected = Point3::new(10.0 + 2.0 * index.x, 20.0 + 3.0 * index.y, 30.0 + 4.0 * index.z);
    assert!((volume.centre_of_gravity().unwrap() - expected).norm() < 1e-12);
}
