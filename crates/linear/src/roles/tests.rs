//! Tests of transforms as parameters in either role, and of the transforms whose overlap a search expects.

use antsreg_core::{Grid, Unit, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use super::*;
use crate::fixed::Fixed;
use crate::{AngleSearch, Cost};

/// A ball on a grid with its own position and orientation, brighter towards one side.
fn ball(centre: [f64; 3], angles: [f64; 3]) -> Volume {
    let mut grid = Grid::axis_aligned([20, 24, 22], [8.0; 3]);
    grid.direction = Rotation3::from_euler_angles(angles[0], angles[1], angles[2]).into_inner();
    grid.origin = Point3::from(centre) - grid.direction * Vector3::new(76.0, 92.0, 84.0);
    let to_world = grid.voxel_to_world();
    let value = |n: usize| {
        let at = to_world.apply(&Point3::from([n % 20, n / 20 % 24, n / 480].map(|index| index as f64)));
        let from_centre = at - Point3::from(centre);
        if from_centre.norm() < 70.0 { (100.0 + from_centre.x + 0.3 * from_centre.y) as f32 } else { 0.0 }
    };
    Volume { voxels: (0..grid.len()).map(value).collect(), grid }
}

#[test]
fn both_roles_describe_the_same_transforms_and_have_each_others_costs() {
    let images = [ball([5.0, -3.0, 2.0], [0.1, 0.0, -0.2]), ball([-8.0, 4.0, 9.0], [0.0, 0.3, 0.1])];
    for cost in [Cost::CorrelationRatio, Cost::NormalisedMutualInformation] {
        let options = Options::of(cost);
        let prepared = [0, 1].map(|n| Fixed::new(&Cpu, &images[n], None, &options).expect("a fixed image"));
        let pair = |n: usize| {
            let moving = Input::from(&images[1 - n]);
            Images::new(&Cpu, &prepared[n], &moving, None).expect("a moving image")
        };
        let (pair, swapped) = (pair(0), pair(1));
        let (poses, swapped_poses) = (pair.poses().expect("poses"), swapped.poses().expect("poses"));
        let start = AffineTransform { translation: Vector3::new(-10.0, 5.0, 6.0), ..AffineTransform::identity() };
        let back = start.inverse().expect("an inverse");
        let exchanged = Roles::new(&pair, Order::Exchanged, &start, &poses, &options).expect("roles");
        let given = Roles::new(&swapped, Order::Given, &back, &swapped_poses, &options).expect("roles");
        let parameters = [0.2, -0.1, 0.3, 4.0, -7.0, 2.0, 1.1, 0.9, 1.05, 0.02, -0.04, 0.05];
        let transform = exchanged.transform(&parameters).expect("a transform");
        let found = exchanged.parameters(&transform).expect("parameters");
        for n in 0..12 {
            assert!((found[n] - parameters[n]).abs() < 1e-9, "{found:?}");
        }
        // Exchanged roles give what the same search gives if the images change sides.
        let expected = given.transform(&parameters).and_then(|found| found.inverse()).expect("a transform");
        assert!((transform.to_homogeneous() - expected.to_homogeneous()).amax() < 1e-9);
        let (level, swapped_level) = (exchanged.level(8.0, &parameters), given.level(8.0, &parameters));
        let mut observer = ();
        let progress = &mut Progress::new(&mut observer, Unit::MILLIMETRE);
        let level = level.expect("a level");
        let costs = exchanged.costs(&level, &[Some(transform), Some(start), None], progress).expect("costs");
        let inverses = [transform, start].map(|transform| transform.inverse().expect("an inverse"));
        let expected = swapped_level.expect("a level").costs_of(&inverses).expect("costs");
        for n in 0..2 {
            assert!((costs[n] - expected[n]).abs() < 1e-6, "{cost}: {costs:?} for {expected:?}");
        }
        assert!((costs[0] - costs[1]).abs() > 0.01, "{cost}: {costs:?}");
        assert_eq!(costs[2..], [1.0], "{cost}");
    }
}

#[test]
fn parameters_of_each_model_come_back_in_either_role() {
    let images = [ball([5.0, -3.0, 2.0], [0.1, 0.0, -0.2]), ball([-8.0, 4.0, 9.0], [0.0, 0.3, 0.1])];
    let turned = Rotation3::from_euler_angles(0.4, -0.2, 0.1).into_inner();
    let start = AffineTransform { matrix: turned, translation: Vector3::new(-10.0, 5.0, 6.0) };
    for (dof, scale) in [(Dof::Rigid6, 1.0), (Dof::Similarity7, 1.25)] {
        let options = Options { dof, ..Options::default() };
        let fixed = Fixed::new(&Cpu, &images[0], None, &options).expect("a fixed image");
        let pair = Images::new(&Cpu, &fixed, &Input::from(&images[1]), None).expect("a moving image");
        let poses = pair.poses().expect("poses");
        let parameters = [0.2, -0.1, 0.3, 4.0, -7.0, 2.0, scale, scale, scale, 0.0, 0.0, 0.0];
        for order in [Order::Given, Order::Exchanged] {
            let roles = Roles::new(&pair, order, &start, &poses, &options).expect("roles");
            let transform = roles.transform(&parameters).expect("a transform");
            let found = roles.parameters(&transform).expect("parameters");
            (0..12).for_each(|i| assert!((found[i] - parameters[i]).abs() < 1e-9, "{dof:?}, {order:?}: {found:?}"));
        }
    }
}

#[test]
fn a_search_over_angles_expects_the_overlap_of_headers_and_centres_too() {
    let pose = |centre| Pose { centre, axes: Matrix3::identity(), extent: Vector3::repeat(20.0) };
    let poses = [pose(Point3::new(3.0, -5.0, 7.0)), pose(Point3::new(40.0, 10.0, -20.0))];
    let shift = |mm: Vector3<f64>| AffineTransform { translation: mm, ..AffineTransform::identity() };
    let start = shift(Vector3::new(1.0, 2.0, 3.0));
    let frame = Frame::new(&start, Matrix3::identity(), poses[1].centre, false).expect("a frame");
    assert_eq!(starts(&frame, &poses, &Search::None), [start]);
    let found = starts(&frame, &poses, &Search::Angles(AngleSearch::default()));
    let expected = [start, AffineTransform::identity(), shift(poses[1].centre - poses[0].centre)];
    assert_eq!(found.len(), 3);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found.to_homogeneous() - expected.to_homogeneous()).amax() < 1e-9, "{found:?} for {expected:?}");
    }
}
