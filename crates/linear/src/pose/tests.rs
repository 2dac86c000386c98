//! Tests of the centre of mass and the principal axes of objects with known poses.

use antsreg_core::Grid;
use nalgebra::Rotation3;

use super::*;

/// A test ellipsoid with half axes of 20, 35 and 50 mm, rotated about its centre, which lies at `centre`.
fn ellipsoid(rotation: &Matrix3<f64>, centre: Point3<f64>) -> Volume {
    let mut grid = Grid::axis_aligned([41, 39, 43], [3.0, 3.3, 2.9]);
    let middle = grid.centre();
    grid.origin += centre - middle + Vector3::new(4.0, -3.0, 2.0);
    let to_world = grid.voxel_to_world();
    let voxels = (0..grid.len())
        .map(|i| {
            let index = Point3::new((i % 41) as f64, (i / 41 % 39) as f64, (i / 41 / 39) as f64);
            let own = rotation.transpose() * (to_world.apply(&index) - centre);
            let r = own.component_div(&Vector3::new(20.0, 35.0, 50.0)).norm();
            (8.0 * (1.0 - r)).clamp(0.0, 1.0) as f32
        })
        .collect();
    Volume { grid, voxels }
}

#[test]
fn centre_and_axes_of_an_ellipsoid() {
    let rotation = Rotation3::from_euler_angles(0.4, -0.7, 1.1).into_inner();
    let centre = Point3::new(30.0, -200.0, 75.0);
    let pose = Pose::of(&ellipsoid(&rotation, centre));
    assert!((pose.centre - centre).norm() < 0.1, "{}", pose.centre);
    for axis in 0..3 {
        let cosine = pose.axes.column(axis).dot(&rotation.column(axis)).abs();
        assert!(cosine > 0.9995, "axis {axis}: {cosine}");
    }
    assert!((pose.axes.determinant() - 1.0).abs() < 1e-9);
    // A uniform solid ellipsoid with a half axis r has a standard deviation of r/√5 along that axis.
    let expected = Vector3::new(20.0, 35.0, 50.0) / 5.0f64.sqrt();
    assert!(pose.extent.component_div(&expected).add_scalar(-1.0).amax() < 0.1, "{}", pose.extent);
}

#[test]
fn the_stretch_is_the_ratio_of_the_extents_within_reason() {
    let pose = |extent| Pose { centre: Point3::origin(), axes: Matrix3::identity(), extent };
    let stretch = pose(Vector3::new(20.0, 30.0, 10.0)).stretch_to(&pose(Vector3::new(26.0, 24.0, 40.0)));
    assert!((stretch - Vector3::new(1.3, 0.8, MOST_STRETCH)).amax() < 1e-12, "{stretch}");
    assert_eq!(pose(Vector3::zeros()).stretch_to(&pose(Vector3::zeros())), Vector3::from_element(1.0));
}

#[test]
fn one_of_the_four_rotations_is_the_right_one() {
    let (first, second) = ([0.1, 0.2, 0.3], [-1.4, 0.9, 2.5]);
    let [first, second] = [first, second].map(|[x, y, z]| Rotation3::from_euler_angles(x, y, z).into_inner());
    let [from, to] = [first, second].map(|rotation| Pose::of(&ellipsoid(&rotation, Point3::new(1.0, 2.0, 3.0))));
    let rotations = from.maps_to(&to, &Vector3::from_element(1.0));
    for rotation in rotations {
        assert!((rotation.determinant() - 1.0).abs() < 1e-9);
        assert!((rotation * rotation.transpose() - Matrix3::identity()).amax() < 1e-9);
    }
    let expected = second * first.transpose();
    let closest = rotations.map(|rotation| (rotation - expected).amax()).into_iter().fold(f64::MAX, f64::min);
    assert!(closest < 0.03, "{closest}");
}

#[test]
fn no_mass_is_the_middle_of_the_grid() {
    let volume = Volume::filled(Grid::axis_aligned([5, 7, 9], [2.0; 3]), 0.0);
    assert_eq!(
        Pose::of(&volume),
        Pose { centre: volume.grid.centre(), axes: Matrix3::identity(), extent: Vector3::zeros() }
    );
}

#[test]
fn the_stretch_after_a_turn_matches_covariances_without_turning() {
    let turned = |angles: [f64; 3], extent: [f64; 3]| Pose {
        centre: Point3::origin(),
        axes: Rotation3::from_euler_angles(angles[0], angles[1], angles[2]).into_inner(),
        extent: extent.into(),
    };
    let (own, other) = (turned([0.3, -0.2, 0.5], [20.0, 24.0, 30.0]), turned([0.4, -0.1, 0.3], [22.0, 21.0, 35.0]));
    let turn = Rotation3::from_euler_angles(0.1, 0.2, -0.1).into_inner();
    let stretch = own.stretch_after(&turn, &other).expect("a stretch");
    assert!((stretch - stretch.transpose()).amax() < 1e-12, "{stretch}");
    let carried = stretch * turn * own.covariance() * turn.transpose() * stretch;
    assert!((carried - other.covariance()).amax() < 1e-9, "{carried}");
    // For a flat object, the stretch along its normal is not determined.
    assert!(turned([0.0; 3], [0.0, 20.0, 30.0]).stretch_after(&turn, &other).is_none());
}

#[test]
fn the_normal_of_a_slice_is_its_first_axis_with_an_extent_of_one_millimetre() {
    let direction = Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner();
    let grid = Grid { direction, ..Grid::axis_aligned([101, 61, 1], [1.0, 1.0, 5.0]) };
    // An ellipse with half axes of 40 and 20 mm. A uniform ellipse with a half axis r has a standard deviation of r/2.
    let inside = |n: usize| ((n % 101) as f64 - 50.0).hypot(2.0 * ((n / 101) as f64 - 30.0)) < 40.0;
    let voxels = (0..grid.len()).map(|n| f32::from(u8::from(inside(n)))).collect();
    let pose = Pose::of(&Volume { grid, voxels });
    assert!((pose.extent - Vector3::new(1.0, 10.0, 20.0)).amax() < 0.1, "{}", pose.extent);
    assert!((pose.axes.column(0) - direction.column(2)).norm() < 1e-9, "{}", pose.axes);
}
