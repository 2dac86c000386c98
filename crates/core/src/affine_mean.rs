//! Means of affine maps: rotations, scales, shears and translations are averaged apart, as by ANTs'
//! `AverageAffineTransform`.

use nalgebra::{Matrix3, Point3, Quaternion, UnitQuaternion, Vector3};

use crate::AffineTransform;

/// The parts of a mean that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// All parts.
    All,
    /// Scales and shears alone: the mean has no rotation and no translation.
    NoRigid,
}

/// An affine map y = M·(x − c) + c + t, about a centre c, with its weight in a mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    /// The map, RAS mm.
    pub affine: AffineTransform,
    /// The centre c, RAS mm.
    pub centre: Point3<f64>,
    /// Weight of the map.
    pub weight: f64,
}

impl Weighted {
    /// The translation t about the centre.
    fn translation(&self) -> Vector3<f64> {
        self.affine.apply(&self.centre) - self.centre
    }
}

/// The weighted mean of affine maps about `centre`. The matrices are M = R·S·K with a rotation R, scales S and shears K
/// (upper triangular). Translations are those about the centre of each map. Maps of `slices` do not leave the plane; the
/// angles of their rotations are averaged, those of others as quaternions. `None` if no map has a positive weight or a
/// matrix is singular.
pub fn mean(maps: &[Weighted], centre: Point3<f64>, parts: Parts, slices: bool) -> Option<AffineTransform> {
    let total: f64 = maps.iter().map(|map| map.weight).sum();
    if total <= 0.0 {
        return None;
    }
    let (mut upper, mut scales) = (Matrix3::zeros(), Vector3::zeros());
    let (mut quaternion, mut angle, mut translation) = (Quaternion::new(0.0, 0.0, 0.0, 0.0), 0.0, Vector3::zeros());
    for map in maps {
        let share = map.weight / total;
        let (rotation, right) = decomposed(&map.affine.matrix, slices)?;
        let diagonal = right.diagonal();
        scales += share * diagonal;
        upper += share * Matrix3::from_diagonal(&diagonal.map(|scale| 1.0 / scale)) * right;
        translation += share * map.translation();
        angle += share * rotation[(1, 0)].atan2(rotation[(0, 0)]);
        let unit = UnitQuaternion::from_matrix(&rotation).into_inner();
        quaternion += (if unit.w < 0.0 { -unit } else { unit }) * share;
    }
    let (rotation, translation) = match parts {
        Parts::NoRigid => (Matrix3::identity(), Vector3::zeros()),
        Parts::All if slices => (
            UnitQuaternion::from_axis_angle(&Vector3::z_axis(), angle).to_rotation_matrix().into_inner(),
            translation,
        ),
        Parts::All => (UnitQuaternion::from_quaternion(quaternion).to_rotation_matrix().into_inner(), translation),
    };
    let matrix = rotation * Matrix3::from_diagonal(&scales) * upper;
    let affine = AffineTransform { matrix, translation: centre.coords + translation - matrix * centre.coords };
    affine.to_homogeneous().iter().all(|value| value.is_finite()).then_some(affine)
}

/// The rotation and the upper triangular matrix whose product is `matrix`. Of the four such pairs, that with the largest
/// trace of the rotation is taken; for slices, that with positive scales.
fn decomposed(matrix: &Matrix3<f64>, slices: bool) -> Option<(Matrix3<f64>, Matrix3<f64>)> {
    if matrix.determinant().abs() < 1e-12 {
        return None;
    }
    let qr = matrix.qr();
    let (mut q, mut r) = (qr.q(), qr.r());
    let flip = |q: &mut Matrix3<f64>, r: &mut Matrix3<f64>, axis: usize| {
        q.column_mut(axis).neg_mut();
        r.row_mut(axis).neg_mut();
    };
    if slices {
        for axis in 0..3 {
            if r[(axis, axis)] < 0.0 {
                flip(&mut q, &mut r, axis);
            }
        }
        return Some((q, r));
    }
    if q.determinant() < 0.0 {
        flip(&mut q, &mut r, 2);
    }
    let with = |axes: [usize; 2]| {
        let (mut q, mut r) = (q, r);
        axes.into_iter().for_each(|axis| flip(&mut q, &mut r, axis));
        (q, r)
    };
    let all = [(q, r), with([1, 2]), with([0, 2]), with([0, 1])];
    all.into_iter().max_by(|(a, _), (b, _)| a.trace().total_cmp(&b.trace()))
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;

    use super::*;

    fn weighted(matrix: Matrix3<f64>, translation: [f64; 3], weight: f64) -> Weighted {
        let affine = AffineTransform { matrix, translation: translation.into() };
        Weighted { affine, centre: Point3::origin(), weight }
    }

    #[test]
    fn the_mean_of_one_map_is_that_map() {
        let rotation = Rotation3::from_euler_angles(0.4, -1.0, 2.0).into_inner();
        let upper = Matrix3::new(1.2, 0.1, -0.2, 0.0, 0.8, 0.05, 0.0, 0.0, 1.1);
        let mut map = weighted(rotation * upper, [1.0, 2.0, 3.0], 2.0);
        map.centre = Point3::new(10.0, -5.0, 3.0);
        let found = mean(&[map.clone(), map.clone()], map.centre, Parts::All, false).unwrap();
        assert!((found.to_homogeneous() - map.affine.to_homogeneous()).amax() < 1e-12);
        let without = mean(&[map.clone()], map.centre, Parts::NoRigid, false).unwrap();
        assert!((without.apply(&map.centre) - map.centre).norm() < 1e-12);
    }

    #[test]
    fn parts_are_averaged_apart() {
        let turn = |angle: f64| Rotation3::from_axis_angle(&Vector3::z_axis(), angle).into_inner();
        let maps =
            [weighted(turn(0.3) * 2.0, [2.0, 0.0, 0.0], 1.0), weighted(turn(-0.1) * 4.0, [0.0, 4.0, 0.0], 1.0)];
        for slices in [false, true] {
            let found = mean(&maps, Point3::origin(), Parts::All, slices).unwrap();
            assert!((found.matrix - turn(0.1) * 3.0).amax() < 1e-2, "{}", found.matrix);
            assert_eq!(found.translation, Vector3::new(1.0, 2.0, 0.0));
        }
        assert_eq!(mean(&[], Point3::origin(), Parts::All, false), None);
    }
}
