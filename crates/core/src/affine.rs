//! Affine maps of points, in double precision.

use nalgebra::{Matrix3, Matrix4, Point3, Vector3};
use serde::{Deserialize, Serialize};

/// The map `y = matrix · x + translation`.
///
/// A *registration's* affine maps fixed world points to moving world points (RAS mm); other uses (voxel to world,
/// voxel to voxel) say so in their names. Serialised, the nine elements of the matrix come column by column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AffineTransform {
    /// Linear part.
    pub matrix: Matrix3<f64>,
    /// Translation, added after the multiplication by the matrix; in the unit of the output space.
    pub translation: Vector3<f64>,
}

impl AffineTransform {
    /// The identity.
    pub fn identity() -> Self {
        AffineTransform { matrix: Matrix3::identity(), translation: Vector3::zeros() }
    }

    /// The point to which the map takes `point`.
    pub fn apply(&self, point: &Point3<f64>) -> Point3<f64> {
        Point3::from(self.matrix * point.coords + self.translation)
    }

    /// The composition x ↦ self(first(x)): `first` acts first, then `self`.
    pub fn after(&self, first: &AffineTransform) -> AffineTransform {
        AffineTransform {
            matrix: self.matrix * first.matrix,
            translation: self.matrix * first.translation + self.translation,
        }
    }

    /// The inverse of the map; `None` if the linear part is singular.
    pub fn inverse(&self) -> Option<AffineTransform> {
        let matrix = self.matrix.try_inverse()?;
        Some(AffineTransform { matrix, translation: -(matrix * self.translation) })
    }

    /// The homogeneous 4×4 matrix of the map.
    pub fn to_homogeneous(&self) -> Matrix4<f64> {
        let mut homogeneous = self.matrix.to_homogeneous();
        homogeneous.fixed_view_mut::<3, 1>(0, 3).copy_from(&self.translation);
        homogeneous
    }

    /// The map that a homogeneous 4×4 matrix describes. The last row of the matrix must be (0, 0, 0, 1).
    pub fn from_homogeneous(homogeneous: &Matrix4<f64>) -> Self {
        AffineTransform {
            matrix: homogeneous.fixed_view::<3, 3>(0, 0).into_owned(),
            translation: homogeneous.fixed_view::<3, 1>(0, 3).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn affines() -> impl Strategy<Value = AffineTransform> {
        // The random matrices have dominant diagonals, so their determinants are not near zero.
        let matrix = prop::array::uniform9(-0.3..0.3).prop_map(|m| Matrix3::from_row_slice(&m) + Matrix3::identity());
        let translation = prop::array::uniform3(-200.0..200.0).prop_map(Vector3::from);
        (matrix, translation).prop_map(|(matrix, translation)| AffineTransform { matrix, translation })
    }

    fn points() -> impl Strategy<Value = Point3<f64>> {
        prop::array::uniform3(-150.0..150.0).prop_map(Point3::from)
    }

    proptest! {
        // Tolerance, mm: coordinates of about 100 mm in double precision have rounding errors far below 1e-9.
        #[test]
        fn after_is_one_then_the_other(outer in affines(), first in affines(), point in points()) {
            let expected = outer.apply(&first.apply(&point));
            prop_assert!((outer.after(&first).apply(&point) - expected).norm() < 1e-9);
        }

        #[test]
        fn the_inverse_undoes_on_both_sides(affine in affines(), point in points()) {
            let inverse = affine.inverse().unwrap();
            prop_assert!((inverse.apply(&affine.apply(&point)) - point).norm() < 1e-9);
            prop_assert!((affine.apply(&inverse.apply(&point)) - point).norm() < 1e-9);
        }

        #[test]
        fn the_homogeneous_matrix_says_the_same(affine in affines(), point in points()) {
            let homogeneous = affine.to_homogeneous();
            prop_assert_eq!(AffineTransform::from_homogeneous(&homogeneous), affine);
            let expected = homogeneous * point.to_homogeneous();
            prop_assert!((affine.apply(&point).to_homogeneous() - expected).norm() < 1e-9);
        }
    }

    #[test]
    fn maps_by_matrix_then_translation() {
        let affine = AffineTransform {
            matrix: Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0),
            translation: Vector3::new(10.0, 20.0, 30.0),
        };
        assert_eq!(affine.apply(&Point3::new(1.0, 2.0, 3.0)), Point3::new(8.0, 21.0, 36.0));
        assert_eq!(AffineTransform::identity().apply(&Point3::new(1.0, 2.0, 3.0)), Point3::new(1.0, 2.0, 3.0));
    }

    #[test]
    fn a_flat_map_has_no_inverse() {
        let matrix = Matrix3::new(1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0);
        assert_eq!(AffineTransform { matrix, translation: Vector3::zeros() }.inverse(), None);
    }
}
