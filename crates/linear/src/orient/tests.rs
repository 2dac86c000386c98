//! Tests of the lattice of rotation angles, and of the alignments of principal axes.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, Rotation3};

use super::*;

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
