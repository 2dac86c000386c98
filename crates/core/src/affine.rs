//! Affine maps of points, in double precision.

use nalgebra::{Matrix3, Matrix4, Point3, Vector3};

/// The map `y = matrix · x + translation`.
///
/// A *registration's* affine maps fixed world points to moving world points (RAS mm); other uses (voxel to world,
/// voxel to voxel) say so in their names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AffineTransform {
    /// Linear part.
    pub matrix: Matrix3<f64>,
    /// Offset, in the unit of the output space.
    pub translation: Vector3<f64>,
}

impl AffineTransform {
    /// The map that leaves every point where it is.
    pub fn identity() -> Self {
        AffineTransform { matrix: Matrix3::identity(), translation: Vector3::zeros() }
    }

    /// The image of `point`.
    pub fn apply(&self, point: &Point3<f64>) -> Point3<f64> {
        Point3::from(self.matrix * point.coords + self.translation)
    }

    /// `self` after `first`: x ↦ self(first(x)).
    pub fn after(&self, first: &AffineTransform) -> AffineTransform {
        AffineTransform {
            matrix: self.matrix * first.matrix,
            translation: self.matrix * first.translation + self.translation,
        }
    }

    /// The inverse map, or `None` when the linear part is singular.
    pub fn inverse(&self) -> Option<AffineTransform> {
        let matrix = self.matrix.try_inverse()?;
        Some(AffineTransform { matrix, translation: -(matrix * self.translation) })
    }

    /// The homogeneous 4×4 matrix.
    pub fn to_homogeneous(&self) -> Matrix4<f64> {
        let mut homogeneous = self.matrix.to_homogeneous();
        homogeneous.fixed_view_mut::<3, 1>(0, 3).copy_from(&self.translation);
        homogeneous
    }

    /// From a homogeneous 4×4 matrix whose last row is (0, 0, 0, 1).
    pub fn from_homogeneous(homogeneous: &Matrix4<f64>) -> Self {
        AffineTransform {
            matrix: homogeneous.fixed_view::<3, 3>(0, 0).into_owned(),
            translation: homogeneous.fixed_view::<3, 1>(0, 3).into_owned(),
        }
    }
}
