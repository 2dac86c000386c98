//! The geometry of an image, with the rounding errors that it has in ITK.

use nalgebra::{Matrix3, Vector3};

use super::svd::{Svd, product};

/// Direction, spacing and origin of an image, with the same bits as in ITK 5.4. Coordinates are LPS mm.
///
/// A [`Grid`](crate::Grid) differs from this in the last digits, because its axes are made orthonormal. The difference
/// matters only where a program must round half a voxel in the same way as ITK.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ItkGeometry {
    /// Directions of the voxel axes, one in each column.
    pub direction: Matrix3<f64>,
    /// Distance between voxel centres along each axis, mm.
    pub spacing: Vector3<f64>,
    /// Position of the centre of voxel (0, 0, 0), mm.
    pub origin: Vector3<f64>,
}

impl ItkGeometry {
    /// Returns the geometry with this voxel-to-world map (RAS) in a header, and with these voxel sizes. An axis with a
    /// negative size is reversed.
    pub(crate) fn of_header(map: &Matrix3<f32>, origin: [f32; 3], sizes: Vector3<f64>) -> ItkGeometry {
        let sign = |row: usize| if row < 2 { -1.0 } else { 1.0 };
        let axes = Matrix3::from_fn(|row, column| sign(row) * f64::from(map[(row, column)]));
        let direction = Matrix3::from_fn(|row, column| {
            let length = axes.column(column).iter().fold(0.0, |sum, value| sum + value * value).sqrt();
            let along = axes[(row, column)] / length;
            if sizes[column] < 0.0 { -along } else { along }
        });
        let origin = Vector3::from_fn(|row, _| sign(row) * f64::from(origin[row]));
        ItkGeometry { direction, spacing: sizes.abs(), origin }
    }

    /// The matrix that maps voxel indices to mm, for voxels that are larger by these factors.
    pub fn index_to_mm(&self, factors: [f64; 3]) -> Matrix3<f64> {
        Matrix3::from_fn(|row, column| self.direction[(row, column)] * (self.spacing[column] * factors[column]))
    }

    /// The inverse of [`ItkGeometry::index_to_mm`] for the factors 1; `None` if that matrix is singular.
    pub fn mm_to_index(&self) -> Option<Matrix3<f64>> {
        Svd::of(&self.index_to_mm([1.0; 3])).map(|svd| svd.inverse())
    }
}

/// Largest difference of numbers that ITK takes for equal when it compares sform and qform.
const SAME: f32 = 1e-4;

/// Whether ITK takes the sform and the qform of a header for the same map. It then uses the sform, which is more
/// precise. The comparison depends on rounding errors if two voxel sizes are nearly equal.
pub(crate) fn are_same(sform: &Matrix3<f32>, qform: &Matrix3<f32>, offsets: [[f32; 3]; 2]) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= SAME;
    let Some((s, q)) = Svd::of(sform).zip(Svd::of(qform)) else { return false };
    let Some(inverse) = Svd::of(&q.u()).map(|svd| svd.inverse()) else { return false };
    let turned = product(&s.u(), &inverse) - Matrix3::identity();
    (0..3).all(|n| near(s.s[n], q.s[n]) && near(offsets[0][n], offsets[1][n])) && turned.iter().all(|v| near(*v, 0.0))
}
