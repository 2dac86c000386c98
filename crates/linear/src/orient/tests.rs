//! Tests of the lattice of rotation angles, and of the alignments of principal axes.

use antsreg_core::{AffineTransform, Grid, Unit, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Point3, Rotation3};

use super::*;
use crate::Options;
use crate::fixed::Fixed;
use crate::images::{Images, Order};

#[test]
fn angles_cover_the_range_at_about_the_step() {
    let lattice = |range_degrees: [f64; 3], step: f64| {
        angle_lattice(&AngleSearch { range_degrees, ..AngleSearch::default() }, step)
    };
    let coarse = lattice([90.0; 3], 60.0);
    assert_eq!(coarse.len(), 4 * 4 * 4);
    assert_eq!(lattice([90.0; 3], 18.0).len(), 1331);
    let last = coarse.point(63).map(f64::to_degrees);
    assert!(last.iter().all(|angle| (angle - 90.0).abs() < 1e-9), "{last:?}");
    let about_y = lattice([0.0, 30.0, 0.0], 18.0);
    assert_eq!(about_y.len(), 4);
    assert!((about_y.point(3)[1].to_degrees() - 30.0).abs() < 1e-9);
    assert_eq!(lattice([0.0; 3], 18.0).point(0), [0.0; 3]);
}

#[test]
fn the_median_is_the_middle_of_the_sorted_values() {
    assert_eq!(median(vec![5.0, -1.0, 3.0]), 3.0);
    assert_eq!(median(vec![4.0, 2.0, 8.0, 6.0, 10.0]), 6.0);
    assert_eq!(median(Vec::new()), 1.0);
}

#[test]
fn principal_axes_are_aligned_with_the_scales_that_the_model_has() {
    let pose = |centre: [f64; 3], angles: [f64; 3], extent: [f64; 3]| Pose {
        centre: Point3::from(centre),
        axes: Rotation3::from_euler_angles(angles[0], angles[1], angles[2]).into_inner(),
        extent: extent.into(),
    };
    let fixed = pose([4.0, 5.0, -6.0], [0.2, 0.7, -0.4], [24.0, 27.0, 44.0]);
    let moving = pose([10.0, -20.0, 30.0], [-0.5, 0.1, 0.9], [20.0, 30.0, 40.0]);
    let frame = Frame::new(&AffineTransform::identity(), Matrix3::identity(), moving.centre, false).expect("a frame");
    for (dof, stretches) in [
        (Dof::Rigid6, vec![[1.0; 3]]),
        (Dof::Similarity7, vec![[1.25; 3]]),
        (Dof::Scales9, vec![[1.25; 3], [1.2, 0.9, 1.1]]),
        (Dof::Affine12, vec![[1.25; 3], [1.2, 0.9, 1.1]]),
    ] {
        let found = principal(&frame, &[fixed, moving], dof, 1.25);
        assert_eq!(found.len(), 4 * stretches.len(), "{dof:?}");
        for (n, parameters) in found.iter().enumerate() {
            let map = frame.transform(parameters).expect("a transform");
            assert!((map.apply(&fixed.centre) - moving.centre).norm() < 1e-9, "{dof:?}");
            // With nine degrees of freedom, a stretch along oblique axes is not a part of the model.
            if dof == Dof::Scales9 && n >= 4 {
                continue;
            }
            let turned = fixed.axes.transpose() * map.matrix.try_inverse().expect("an inverse") * moving.axes;
            let expected = Matrix3::from_diagonal(&stretches[n / 4].into());
            assert!((turned.abs() - expected).amax() < 1e-9, "{dof:?}: {turned}");
        }
    }
}

#[test]
fn stretched_orientations_are_added_if_the_model_has_a_scale_for_each_axis() {
    let mut grid = Grid::axis_aligned([24; 3], [8.0; 3]);
    grid.origin = Point3::new(-92.0, -92.0, -92.0);
    let at = |n: usize| Vector3::from([n % 24, n / 24 % 24, n / 576].map(|index| 8.0 * index as f64 - 92.0));
    let value = |n: usize| if at(n).norm() < 70.0 { 100.0 + at(n).x + 0.3 * at(n).y } else { 0.0 };
    let image = Volume { voxels: (0..grid.len()).map(|n| value(n) as f32).collect(), grid };
    let fixed = Fixed::new(&Cpu, &image, None, &Options::default()).expect("a fixed image");
    let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
    let (start, poses) = (AffineTransform::identity(), images.poses().expect("poses"));
    let overlap = images.overlap(Order::Given, &[start]);
    let level = images.level(Order::Given, 8.0, &start, &overlap).expect("a level");
    let frame = Frame::new(&start, Matrix3::identity(), poses[1].centre, false).expect("a frame");
    // The lattice has one point, so there is one orientation and, with the principal axes, four more.
    for (dof, principal_axes, expected) in [
        (Dof::Similarity7, false, 1),
        (Dof::Similarity7, true, 1 + 4),
        (Dof::Scales9, false, 2),
        (Dof::Affine12, true, 2 + 8),
    ] {
        let angles = AngleSearch { range_degrees: [0.0; 3], principal_axes, ..AngleSearch::default() };
        let mut observer = ();
        let progress = &mut Progress::new(&mut observer, Unit::MILLIMETRE);
        let found = search(&level, &frame, dof, &angles, &poses, progress).expect("candidates");
        assert_eq!(found.len(), expected, "{dof:?}");
        assert!(found.is_sorted_by_key(|candidate| candidate.cost), "{dof:?}");
    }
}
