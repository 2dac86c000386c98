//! Displacement fields in memory: interpolation, composition, longest vector, resampling on other grids.

use rayon::prelude::*;
use wide::f32x4;

use super::image::Cell;
use super::points::{Place, strides};
use super::{widest, zeros};
use crate::Error;

/// A displacement field in main memory: displacements in voxels, with the three components of a voxel adjacent and x
/// fastest.
#[derive(Debug, Clone)]
pub struct Field {
    pub(super) shape: [usize; 3],
    /// The displacement of each voxel, three floats, x fastest; [`PADDING`] zeros follow the last voxel.
    components: Vec<f32>,
    /// The squared length of the longest vector, if it is known. It is dropped when vectors are written.
    longest_squared: Option<f32>,
}

/// Number of floats after the last vector. A vector is read as four floats, and two neighbours along x as seven, so
/// reads extend beyond the last vector.
const PADDING: usize = 4;

impl Field {
    pub(super) fn zeros(shape: [usize; 3]) -> Field {
        let components = zeros(3 * shape.iter().product::<usize>() + PADDING);
        Field { shape, components, longest_squared: None }
    }

    pub(super) fn from_vectors(shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        Error::check_length("upload_field", shape, vectors.len())?;
        let mut field = Field::zeros(shape);
        field.vectors_mut().copy_from_slice(vectors);
        Ok(field)
    }

    pub(super) fn vectors(&self) -> &[[f32; 3]] {
        self.components.as_chunks().0.split_at(self.len()).0
    }

    pub(super) fn vectors_mut(&mut self) -> &mut [[f32; 3]] {
        let len = self.len();
        self.longest_squared = None;
        self.components.as_chunks_mut().0.split_at_mut(len).0
    }

    /// Keeps the squared length of the longest vector, which was found when the vectors were written.
    pub(super) fn keep_longest(&mut self, squared: f32) {
        self.longest_squared = Some(squared);
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Position of a voxel in the list of displacement vectors, x fastest.
    pub(super) fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.shape[1] + j) * self.shape[0] + i
    }

    pub(super) fn sampler(&self) -> FieldSampler<'_> {
        FieldSampler {
            components: &self.components,
            strides: strides(self.shape).map(|stride| 3 * stride as u32),
            shape: self.shape,
            cell: Cell::new(self.shape),
        }
    }
}

/// Whether a voxel is on the border of a volume. An axis of one voxel does not count.
pub(super) fn on_edge(at: [usize; 3], shape: [usize; 3]) -> bool {
    (0..3).any(|axis| shape[axis] > 1 && (at[axis] == 0 || at[axis] == shape[axis] - 1))
}

/// Interpolates a displacement field at fractional voxel indices.
#[derive(Clone, Copy)]
pub(super) struct FieldSampler<'a> {
    components: &'a [f32],
    /// Distance in memory, in floats, to the next voxel along each axis, 0 along an axis of one voxel. With 32 bits the
    /// compiler knows that sums of them do not overflow, and checks fewer bounds.
    strides: [u32; 3],
    shape: [usize; 3],
    cell: Cell,
}

impl FieldSampler<'_> {
    pub(super) fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The displacement at a point by trilinear interpolation; beyond the border, the value at the border. The fourth
    /// lane of the result has no meaning: vectors have three components, but the processor works on four lanes.
    #[inline(always)]
    pub(super) fn at(&self, point: f32x4) -> f32x4 {
        self.at_place(self.cell.locate(point))
    }

    /// The displacement at a place by trilinear interpolation. The fourth lane of the result has no meaning.
    #[inline(always)]
    pub(super) fn at_place(&self, Place { near, within: [tx, ty, tz] }: Place) -> f32x4 {
        let [_, sy, sz] = self.strides.map(|stride| stride as usize);
        // The bounds of all eight voxels are checked at once.
        let cell = &self.components[3 * near..][..sz + sy + 7];
        // Along an axis of one voxel the position between two voxels is 0. So the weight of the second one, which is
        // some other number in memory, is 0.
        let along_x = |at: usize| {
            let two = &cell[at..at + 7];
            lerp(f32x4::from(&two[..4]), f32x4::from(&two[3..]), tx)
        };
        let c0 = lerp(along_x(0), along_x(sy), ty);
        let c1 = lerp(along_x(sz), along_x(sz + sy), ty);
        lerp(c0, c1, tz)
    }

    /// The derivatives ∂u/∂x, ∂u/∂y and ∂u/∂z of the trilinear interpolation in the cell of the point.
    #[inline(always)]
    pub(super) fn derivative(&self, point: f32x4) -> [f32x4; 3] {
        self.derivative_at_place(self.cell.locate(point))
    }

    /// The derivatives ∂u/∂x, ∂u/∂y and ∂u/∂z of the trilinear interpolation at a place.
    #[inline(always)]
    pub(super) fn derivative_at_place(&self, Place { near, within: [tx, ty, tz] }: Place) -> [f32x4; 3] {
        let [sx, sy, sz] = self.strides.map(|stride| stride as usize);
        let corner = |at: usize| f32x4::from(&self.components[at..at + 4]);
        let along_x = |at: usize| (corner(at), corner(at + sx));
        let near = 3 * near;
        let far = near + sz;
        let ((c000, c100), (c010, c110)) = (along_x(near), along_x(near + sy));
        let ((c001, c101), (c011, c111)) = (along_x(far), along_x(far + sy));
        [
            lerp(lerp(c100 - c000, c110 - c010, ty), lerp(c101 - c001, c111 - c011, ty), tz),
            lerp(lerp(c010 - c000, c110 - c100, tx), lerp(c011 - c001, c111 - c101, tx), tz),
            lerp(lerp(c001 - c000, c101 - c100, tx), lerp(c011 - c010, c111 - c110, tx), ty),
        ]
    }
}

#[inline(always)]
fn lerp(a: f32x4, b: f32x4, t: f32) -> f32x4 {
    a + f32x4::splat(t) * (b - a)
}

/// Puts the three components of a vector or a point into the first three lanes.
#[inline(always)]
pub(super) fn lanes([x, y, z]: [f32; 3]) -> f32x4 {
    f32x4::new([x, y, z, 0.0])
}

#[inline(always)]
pub(super) fn vector(lanes: f32x4) -> [f32; 3] {
    let [x, y, z, _] = lanes.to_array();
    [x, y, z]
}

/// Length of the longest vector of a field, voxels.
pub(super) fn max_norm(field: &Field) -> f32 {
    let [nx, ny, _] = field.shape;
    let of_slice = |vectors: &[[f32; 3]]| {
        widest(
            #[inline(always)]
            || longest_squared(vectors),
        )
    };
    let compute = || field.vectors().par_chunks(nx * ny).map(of_slice).reduce(|| 0.0, f32::max);
    field.longest_squared.unwrap_or_else(compute).sqrt()
}

/// Squared length of the longest of some vectors.
#[inline(always)]
pub(super) fn longest_squared(vectors: &[[f32; 3]]) -> f32 {
    vectors.iter().fold(0.0, |longest: f32, [x, y, z]| longest.max(x * x + y * y + z * z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_vector_is_known_from_smoothing_until_vectors_are_written() {
        let shape = [9, 8, 7];
        for variance in [0.25, 1.0] {
            let mut field = Field::zeros(shape);
            // The longest vectors are at the border, which smoothing sets to zero.
            for (n, vector) in field.vectors_mut().iter_mut().enumerate() {
                let border = on_edge([n % 9, n / 9 % 8, n / 72], shape);
                *vector = [(n * n % 13) as f32, -1.0, if border { 50.0 } else { 0.5 }];
            }
            crate::cpu::intensity::smooth::smooth_field(&mut field, variance);
            let longest = max_norm(&field);
            let length = |v: &[f32; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            assert_eq!(longest, field.vectors().iter().map(length).fold(0.0, f32::max), "variance {variance}");
            assert!(longest > 1.0);
            field.vectors_mut()[200] = [0.0, 3.0 * longest, 0.0];
            assert_eq!(max_norm(&field), 3.0 * longest);
        }
    }

    #[test]
    fn the_derivative_is_the_difference_quotient_within_the_cell() {
        let shape = [4, 5, 3];
        let mut number = 1u32;
        let vectors: Vec<[f32; 3]> = (0..60)
            .map(|_| {
                std::array::from_fn(|_| {
                    number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (number >> 8) as f32 / (1 << 24) as f32
                })
            })
            .collect();
        let field = Field::from_vectors(shape, &vectors).unwrap();
        let sampler = field.sampler();
        for point in [[0.5, 0.25, 0.75], [2.5, 3.25, 1.5], [1.75, 2.5, 0.375]] {
            let derivative = sampler.derivative(lanes(point)).map(vector);
            for axis in 0..3 {
                // Within a cell the interpolation is linear along each axis.
                let end = |at: f32| {
                    let mut end = point;
                    end[axis] = point[axis].floor() + at;
                    vector(sampler.at(lanes(end)))
                };
                let (low, high) = (end(0.125), end(0.875));
                for c in 0..3 {
                    let expected = (high[c] - low[c]) / 0.75;
                    assert!((derivative[axis][c] - expected).abs() < 1e-5, "axis {axis} at {point:?}");
                }
            }
        }
    }
}
