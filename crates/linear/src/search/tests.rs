//! Tests of the list of resolution levels that a search runs through, and of the transforms whose overlap it expects.

use nalgebra::{Matrix3, Point3, Vector3};

use super::*;
use crate::AngleSearch;

#[test]
fn levels_end_at_the_voxels_or_where_the_options_end_them() {
    assert_eq!(levels(1.0, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(1.0001, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(0.5, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(1.0, 2.0), [8.0, 4.0, 2.0]);
    assert_eq!(levels(1.2, 1.0), [8.0, 4.0, 2.0]);
    assert_eq!(levels(3.0, 1.0), [8.0, 4.0]);
    assert_eq!(levels(9.5, 1.0), [10.0]);
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
