//! Tests of the conversion between parameters and transforms, in both directions.

use nalgebra::Unit;
use proptest::prelude::*;

use super::*;

fn frame() -> Frame {
    let start = AffineTransform {
        matrix: Rotation3::from_euler_angles(0.3, -0.8, 1.9).into_inner(),
        translation: Vector3::new(30.0, -12.0, 55.0),
    };
    let axes = Rotation3::from_euler_angles(-0.2, 0.4, 0.1) * Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0));
    Frame::new(&start, axes, Point3::new(10.0, 20.0, -30.0), false).expect("an invertible start")
}

/// A test case of the relation between parameters and transforms: slices whose plane is oblique to the world axes.
fn slices() -> Frame {
    let axes = Rotation3::from_euler_angles(-0.2, 0.4, 0.1).into_inner();
    let start = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(5.0, 6.0, 7.0) };
    Frame::new(&start, axes, Point3::new(10.0, 20.0, -30.0), true).expect("an invertible start")
}

#[test]
fn slices_have_half_the_degrees_of_freedom_and_keep_their_plane() {
    let frame = slices();
    let normal = frame.axes.column(2).into_owned();
    for (dof, count) in [(Dof::Rigid6, 3), (Dof::Similarity7, 4), (Dof::Scales9, 5), (Dof::Affine12, 6)] {
        let directions = frame.directions(dof, 2.0);
        assert_eq!(directions.len(), count);
        assert_eq!(frame.translations_and_scale(dof, 2.0).len(), if dof == Dof::Rigid6 { 2 } else { 3 });
        let moved = directions.iter().fold(IDENTITY, |point, direction| along(&point, direction, 5.0));
        let transform = frame.transform(&moved).expect("a transform");
        // Points of the fixed slice's plane must be mapped into the moving slice's plane, which has the same normal.
        let before = frame.fixed_centre + frame.axes.column(0) * 30.0 - frame.axes.column(1) * 20.0;
        assert!((transform.apply(&before) - frame.moving_centre).dot(&normal).abs() < 1e-9);
        assert!((transform.matrix * normal - normal).norm() < 1e-12, "{}", transform.matrix * normal);
    }
}

#[test]
fn parameters_of_slices_come_back_and_leave_out_what_tilts() {
    let frame = slices();
    let mut parameters = IDENTITY;
    (parameters[2], parameters[6], parameters[7], parameters[9]) = (2.9, 1.2, 0.9, 0.1);
    let shift = frame.axes.column(0) * 3.0 - frame.axes.column(1) * 4.0;
    parameters[TRANSLATION..SCALE].copy_from_slice(shift.as_slice());
    let map = frame.transform(&parameters).expect("a transform").inverse().expect("its inverse");
    let off_plane = map.apply(&frame.moving_centre) + frame.axes.column(2) * 11.0;
    let found = frame.parameters(&map.matrix, &off_plane, Dof::Affine12).expect("parameters");
    (0..12).for_each(|i| assert!((found[i] - parameters[i]).abs() < 1e-9, "{found:?} for {parameters:?}"));
    assert!(frame.keeps_side(&map.matrix));
    let turned_over = frame.axes * Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0)) * frame.axes.transpose();
    assert!(!frame.keeps_side(&turned_over));
}

#[test]
fn identity_is_the_start() {
    let start = AffineTransform {
        matrix: Matrix3::new(1.1, 0.2, 0.0, -0.1, 0.9, 0.3, 0.05, 0.0, 1.2),
        translation: Vector3::new(3.0, -4.0, 5.0),
    };
    let frame = Frame::new(&start, Matrix3::identity(), Point3::new(7.0, 8.0, 9.0), false).expect("a frame");
    let transform = frame.transform(&IDENTITY).expect("a transform");
    assert!((transform.to_homogeneous() - start.to_homogeneous()).amax() < 1e-12);
}

#[test]
fn translations_move_the_centre_and_nothing_else_does() {
    let frame = frame();
    let mut parameters = [0.3, -0.2, 0.5, 4.0, -5.0, 6.0, 1.1, 0.9, 1.2, 0.05, -0.03, 0.02];
    let transform = frame.transform(&parameters).expect("a transform");
    let target = frame.fixed_centre + Vector3::new(4.0, -5.0, 6.0);
    assert!((transform.apply(&target) - frame.moving_centre).norm() < 1e-9);
    parameters[0] += 0.4;
    parameters[8] *= 1.3;
    let transform = frame.transform(&parameters).expect("a transform");
    assert!((transform.apply(&target) - frame.moving_centre).norm() < 1e-9);
}

#[test]
fn scales_act_along_the_moving_axes() {
    let frame = frame();
    let mut parameters = IDENTITY;
    parameters[SCALE + 1] = 1.25;
    let scaled = frame.transform(&parameters).expect("a transform").inverse().expect("its inverse");
    let plain = frame.transform(&IDENTITY).expect("a transform").inverse().expect("its inverse");
    for axis in 0..3 {
        let along = frame.axes.column(axis).into_owned();
        let ratio = (scaled.matrix * along).norm() / (plain.matrix * along).norm();
        assert!((ratio - if axis == 1 { 1.25 } else { 1.0 }).abs() < 1e-12, "axis {axis}: {ratio}");
    }
}

#[test]
fn vanishing_scales_make_no_transform() {
    let mut parameters = IDENTITY;
    parameters[SCALE] = 0.0;
    assert!(frame().transform(&parameters).is_none());
}

#[test]
fn the_distance_of_parameters_is_the_largest_difference_in_tolerances() {
    // The tolerances on the 2 mm level are 0.01 radians, 0.4 mm, 0.004 of scale and 0.002 of skew.
    let changes = [0.01, -0.02, 0.03, 0.4, -0.8, 1.2, 0.004, -0.008, 0.012, 0.002, -0.004, 0.006];
    let mut all = IDENTITY;
    for (i, change) in changes.into_iter().enumerate() {
        let mut moved = IDENTITY;
        moved[i] += change;
        all[i] += change;
        let expected = (i % 3 + 1) as f64;
        assert!((tolerances(&IDENTITY, &moved, 2.0) - expected).abs() < 1e-9, "parameter {i}");
    }
    assert!((tolerances(&IDENTITY, &all, 2.0) - 3.0).abs() < 1e-9);
}

#[test]
fn a_rotation_exactly_at_the_pole_comes_back() {
    let (sine, cosine) = 0.7_f64.sin_cos();
    for up in [1.0, -1.0] {
        let expected = Matrix3::new(0.0, 0.0, up, up * sine, cosine, 0.0, -up * cosine, sine, 0.0);
        let mut parameters = IDENTITY;
        parameters[..3].copy_from_slice(&angles(&Rotation3::from_matrix_unchecked(expected)));
        assert!((rotation(&parameters) - expected).amax() < 1e-9, "{parameters:?}");
    }
}

#[test]
fn the_least_scale_has_a_transform() {
    for (scale, expected) in [(LEAST_SCALE, true), (0.99 * LEAST_SCALE, false), (-1.0, false)] {
        for axis in 0..3 {
            let mut parameters = IDENTITY;
            parameters[SCALE + axis] = scale;
            assert_eq!(frame().transform(&parameters).is_some(), expected, "{scale} along axis {axis}");
        }
    }
}

#[test]
fn only_slices_must_keep_the_sign_of_their_normal() {
    let with = |slices: bool| {
        Frame::new(&AffineTransform::identity(), Matrix3::identity(), Point3::origin(), slices).expect("a frame")
    };
    let flip = Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0));
    // This rotation moves the normal into the plane of the slice.
    let across = Matrix3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0);
    let turn = Rotation3::from_euler_angles(0.0, 0.0, 2.0).into_inner();
    assert_eq!([flip, across, turn].map(|map| with(true).keeps_side(&map)), [false, false, true]);
    assert_eq!([flip, across, turn].map(|map| with(false).keeps_side(&map)), [true; 3]);
}

#[test]
fn headers_are_the_identity_of_the_world() {
    let frame = frame();
    let parameters = frame.headers().expect("parameters");
    let transform = frame.transform(&parameters).expect("a transform");
    assert!((transform.to_homogeneous() - nalgebra::Matrix4::identity()).amax() < 1e-9);
}

#[test]
fn degrees_of_freedom_free_as_many_directions() {
    for (dof, count) in [(Dof::Rigid6, 6), (Dof::Similarity7, 7), (Dof::Scales9, 9), (Dof::Affine12, 12)] {
        assert_eq!(directions(dof, 2.0).len(), count);
    }
    assert_eq!(frame().translations_and_scale(Dof::Affine12, 8.0).len(), 4);
    assert_eq!(frame().translations_and_scale(Dof::Rigid6, 8.0).len(), 3);
    assert_eq!(directions(Dof::Affine12, 4.0)[0][0], 0.02);
    assert_eq!(directions(Dof::Similarity7, 8.0)[6][SCALE..SKEW], [0.016; 3]);
}

#[test]
fn translations_keep_the_linear_part_of_the_start() {
    let start = AffineTransform {
        matrix: Matrix3::new(1.1, 0.2, 0.0, -0.1, 0.9, 0.3, 0.05, 0.0, 1.2),
        translation: Vector3::new(3.0, -4.0, 5.0),
    };
    let axes = Rotation3::from_euler_angles(-0.2, 0.4, 0.1).into_inner();
    let centre = Point3::new(10.0, 20.0, -30.0);
    for (slices, count) in [(false, 3), (true, 2)] {
        let frame = Frame::new(&start, axes, centre, slices).expect("a frame").of(Dof::Translation3);
        assert_eq!(frame.transform(&IDENTITY), Some(start));
        let directions = frame.directions(Dof::Translation3, 4.0);
        assert_eq!((directions.len(), frame.shift_axes()), (count, count));
        let mm = [12.0, -5.0, if slices { 0.0 } else { 7.0 }];
        let moved = directions.iter().zip(mm).fold(IDENTITY, |point, (step, mm)| along(&point, step, mm / 0.8));
        let transform = frame.transform(&moved).expect("a transform");
        assert_eq!(transform.matrix, start.matrix);
        // After the translation, the centre of mass must have moved by these distances along the axes of the world or,
        // for slices, along the axes of the slice.
        let shift = if slices { axes * Vector3::from(mm) } else { Vector3::from(mm) };
        assert!((transform.apply(&(frame.fixed_centre + shift)) - centre).norm() < 1e-9);
        assert!(tolerances(&frame.shifted(&IDENTITY, mm), &moved, 4.0) < 1e-9);
        // The target lies outside the plane of the slice. A translation of a volume must reach the target, and a
        // translation of a slice must not.
        let target = frame.fixed_centre + axes * Vector3::new(3.0, 4.0, 11.0);
        let reached = frame.transform(&frame.translation_to(&target)).expect("a transform");
        let miss = (reached.apply(&target) - centre).norm();
        assert!(if slices { miss > 5.0 } else { miss < 1e-9 }, "{miss} mm");
        // With a rigid model, the same parameters must give the same transform as with the translation model.
        let other = frame.of(Dof::Rigid6).transform(&moved).expect("a transform");
        assert!((other.to_homogeneous() - transform.to_homogeneous()).amax() < 1e-9);
        let headers = frame.transform(&frame.headers().expect("parameters")).expect("a transform");
        assert!(slices || (headers.apply(&centre) - centre).norm() < 1e-9);
        assert_eq!(headers.matrix, start.matrix);
    }
}

proptest! {
    #[test]
    fn rotations_come_back(axis in prop::array::uniform3(-1.0..1.0f64), angle in -3.1..3.1f64) {
        prop_assume!(Vector3::from(axis).norm() > 0.1);
        let expected = Rotation3::from_axis_angle(&Unit::new_normalize(Vector3::from(axis)), angle);
        let mut parameters = IDENTITY;
        parameters[..3].copy_from_slice(&angles(&expected));
        prop_assert!((rotation(&parameters) - expected.matrix()).amax() < 1e-6);
    }

    #[test]
    fn rotations_at_the_pole_come_back(x in -3.0..3.0f64, z in -3.0..3.0f64, up in prop::bool::ANY) {
        let mut parameters = IDENTITY;
        parameters[..3].copy_from_slice(&[x, if up { 1.0 } else { -1.0 } * std::f64::consts::FRAC_PI_2, z]);
        let expected = rotation(&parameters);
        parameters[..3].copy_from_slice(&angles(&Rotation3::from_matrix_unchecked(expected)));
        prop_assert!((rotation(&parameters) - expected).amax() < 1e-6);
    }

    #[test]
    fn parameters_come_back(
        turn in prop::array::uniform3(-1.5..1.5f64),
        shift in prop::array::uniform3(-90.0..90.0f64),
        scale in prop::array::uniform3(0.6..1.6f64),
        skew in prop::array::uniform3(-0.3..0.3f64),
    ) {
        let frame = frame();
        let expected: Parameters = [turn, shift, scale, skew].concat().try_into().expect("twelve");
        let moving_to_fixed = frame.transform(&expected).and_then(|map| map.inverse()).expect("a transform");
        let centre = moving_to_fixed.apply(&frame.moving_centre);
        let found = frame.parameters(&moving_to_fixed.matrix, &centre, Dof::Affine12).expect("parameters");
        (0..12).for_each(|i| assert!((found[i] - expected[i]).abs() < 1e-6, "{found:?} for {expected:?}"));
        let scaled = frame.parameters(&moving_to_fixed.matrix, &centre, Dof::Scales9).expect("parameters");
        prop_assert_eq!(&scaled[SKEW..], &[0.0; 3]);
        let rigid = frame.parameters(&moving_to_fixed.matrix, &centre, Dof::Rigid6).expect("parameters");
        prop_assert_eq!(&rigid[SCALE..], &IDENTITY[SCALE..]);
        prop_assert_eq!(&rigid[..SCALE], &found[..SCALE]);
        prop_assert!(frame.parameters(&-moving_to_fixed.matrix, &centre, Dof::Affine12).is_none());
    }

    #[test]
    fn rigid_maps_come_back(x in -1.5..1.5f64, y in -1.5..1.5f64, z in -1.5..1.5f64, shift in -90.0..90.0f64) {
        let frame = frame();
        let matrix = Rotation3::from_euler_angles(x, y, z).into_inner();
        let centre = Point3::new(shift, 2.0, -shift);
        let parameters = frame.parameters(&matrix, &centre, Dof::Rigid6).expect("parameters");
        let transform = frame.transform(&parameters).expect("a transform");
        prop_assert!((transform.matrix - matrix.transpose()).amax() < 1e-6);
        prop_assert!((transform.apply(&centre) - frame.moving_centre).norm() < 1e-6);
    }
}
