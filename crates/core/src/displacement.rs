//! Dense displacement fields and their interpolation.

use nalgebra::{Matrix3, Point3, Vector3};

use crate::{AffineTransform, Grid};

/// A field of displacements u(x) in world millimetres (RAS), given at the voxels of a grid: a point x of the grid's
/// space is mapped to x + u(x). Between voxel centres u is trilinear. Up to half a voxel beyond the outermost centres
/// u has the border value; farther out u is zero, as in ITK.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplacementField {
    /// The grid of voxels at which the displacement vectors are given.
    pub grid: Grid,
    /// The displacement vector of each voxel, mm; the first axis of the grid runs fastest in memory.
    pub vectors: Vec<[f32; 3]>,
}

impl DisplacementField {
    /// Makes a field of zero displacements.
    pub fn zeros(grid: Grid) -> DisplacementField {
        let vectors = vec![[0.0; 3]; grid.len()];
        DisplacementField { grid, vectors }
    }

    /// The displacement at a world point, mm. For many points use a [`sampler`](Self::sampler): this function inverts
    /// the grid's voxel-to-world map in every call.
    pub fn at(&self, point: &Point3<f64>) -> Vector3<f64> {
        self.sampler().at(point)
    }

    /// Makes an interpolator for this displacement field, for evaluation at many points.
    pub fn sampler(&self) -> FieldSampler<'_> {
        FieldSampler { field: self, world_to_voxel: self.grid.world_to_voxel() }
    }

    /// The displacement at a fractional voxel index, mm.
    pub fn at_voxel(&self, index: &Point3<f64>) -> Vector3<f64> {
        let Some(cell) = Cell::around(self.grid.shape, index) else { return Vector3::zeros() };
        let [nx, ny, _] = self.grid.shape;
        let [x, y, z] = cell.at;
        let mut sum = Vector3::zeros();
        for (dz, wz) in [(0, 1.0 - z.1), (cell.step[2], z.1)] {
            for (dy, wy) in [(0, 1.0 - y.1), (cell.step[1], y.1)] {
                let row = ((z.0 + dz) * ny + y.0 + dy) * nx + x.0;
                let (near, far) = (self.vectors[row], self.vectors[row + cell.step[0]]);
                let along: [f64; 3] =
                    std::array::from_fn(|c| f64::from(near[c]) + x.1 * (f64::from(far[c]) - f64::from(near[c])));
                sum += Vector3::from(along) * (wz * wy);
            }
        }
        sum
    }

    /// Length of the longest displacement, mm.
    pub fn longest_mm(&self) -> f64 {
        self.vectors.iter().map(|v| v.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>()).fold(0.0, f64::max).sqrt()
    }
}

/// Interpolates a [`DisplacementField`] at world points.
#[derive(Debug, Clone)]
pub struct FieldSampler<'a> {
    field: &'a DisplacementField,
    world_to_voxel: AffineTransform,
}

impl FieldSampler<'_> {
    /// The displacement at a world point, mm.
    #[inline]
    pub fn at(&self, point: &Point3<f64>) -> Vector3<f64> {
        self.field.at_voxel(&self.world_to_voxel.apply(point))
    }

    /// The displacement at a world point, mm, and whether the point lies in the grid of the field.
    #[inline]
    pub fn at_and_inside(&self, point: &Point3<f64>) -> (Vector3<f64>, bool) {
        let index = self.world_to_voxel.apply(point);
        (self.field.at_voxel(&index), self.field.grid.holds(&index))
    }

    /// The displacement at a world point, mm, and its derivative there: row c, column d is ∂u_c/∂x_d of the trilinear
    /// interpolation. Both are zero outside the field.
    pub fn with_derivative(&self, point: &Point3<f64>) -> (Vector3<f64>, Matrix3<f64>) {
        let DisplacementField { grid, vectors } = self.field;
        let Some(cell) = Cell::around(grid.shape, &self.world_to_voxel.apply(point)) else {
            return (Vector3::zeros(), Matrix3::zeros());
        };
        let [nx, ny, _] = grid.shape;
        let [x, y, z] = cell.at;
        // For each of the four edges along x of the interpolation cell around the point: the displacement at the
        // point's x, and the change of the displacement along the whole edge.
        let edge = |dy: usize, dz: usize| {
            let row = ((z.0 + dz * cell.step[2]) * ny + y.0 + dy * cell.step[1]) * nx + x.0;
            let near = Vector3::from(vectors[row].map(f64::from));
            let change = Vector3::from(vectors[row + cell.step[0]].map(f64::from)) - near;
            [near + change * x.1, change]
        };
        let between = |a: Vector3<f64>, b: Vector3<f64>, share: f64| a + (b - a) * share;
        let [[a, ax], [b, bx], [c, cx], [d, dx]] = [edge(0, 0), edge(1, 0), edge(0, 1), edge(1, 1)];
        let (low, high) = (between(a, b, y.1), between(c, d, y.1));
        let by_voxel = Matrix3::from_columns(&[
            between(between(ax, bx, y.1), between(cx, dx, y.1), z.1),
            between(b - a, d - c, z.1),
            high - low,
        ]);
        (between(low, high, z.1), by_voxel * self.world_to_voxel.matrix)
    }
}

/// The cell for trilinear interpolation: the eight voxels around a fractional index.
struct Cell {
    /// For each axis: the index of the neighbouring voxel below the interpolated point, and the distance from this
    /// voxel to the point as a fraction of the voxel size.
    at: [(usize, f64); 3],
    /// For each axis: 1 if the interpolated point also has a neighbouring voxel above it, 0 if the field has a single
    /// voxel along the axis.
    step: [usize; 3],
}

impl Cell {
    /// The cell around a fractional voxel index. `None` for an index more than half a voxel outside the grid (ITK's
    /// rule for n voxels along an axis: −½ ≤ index < n − ½), and for NaN.
    #[inline]
    fn around(shape: [usize; 3], index: &Point3<f64>) -> Option<Cell> {
        let mut at = [(0, 0.0); 3];
        let mut step = [0; 3];
        for axis in 0..3 {
            let last = shape[axis] as f64 - 1.0;
            if !(index[axis] >= -0.5 && index[axis] < last + 0.5) {
                return None;
            }
            let clamped = index[axis].clamp(0.0, last);
            let lower = (clamped as usize).min(shape[axis].saturating_sub(2));
            at[axis] = (lower, clamped - lower as f64);
            step[axis] = usize::from(shape[axis] > 1);
        }
        Some(Cell { at, step })
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;

    use super::*;

    /// Makes a field u(x) = L·x + t, with a matrix L and a vector t, on an oblique anisotropic grid. Trilinear
    /// interpolation reproduces such a field exactly.
    fn linear_field() -> (DisplacementField, Matrix3<f64>, Vector3<f64>) {
        let grid = Grid {
            shape: [5, 4, 3],
            spacing: Vector3::new(1.5, 0.7, 2.0),
            origin: Point3::new(-10.0, 4.0, 2.5),
            direction: Rotation3::from_euler_angles(0.3, -0.2, 0.9).into_inner(),
        };
        let slope = Matrix3::new(0.1, -0.2, 0.05, 0.3, 0.0, -0.1, 0.02, 0.15, 0.2);
        let offset = Vector3::new(0.5, -1.0, 2.0);
        let to_world = grid.voxel_to_world();
        let mut field = DisplacementField::zeros(grid);
        for (n, vector) in field.vectors.iter_mut().enumerate() {
            let index = Point3::new((n % 5) as f64, (n / 5 % 4) as f64, (n / 20) as f64);
            let u = slope * to_world.apply(&index).coords + offset;
            *vector = [u.x as f32, u.y as f32, u.z as f32];
        }
        (field, slope, offset)
    }

    #[test]
    fn is_exact_for_a_linear_field() {
        let (field, slope, offset) = linear_field();
        for index in [[0.0, 0.0, 0.0], [4.0, 3.0, 2.0], [1.3, 2.9, 0.2], [3.99, 0.01, 1.5]] {
            let world = field.grid.voxel_to_world().apply(&Point3::from(index));
            let expected = slope * world.coords + offset;
            // Tolerance: the vectors are stored in single precision.
            assert!((field.at(&world) - expected).amax() < 1e-5, "at {index:?}");
            let (displacement, derivative) = field.sampler().with_derivative(&world);
            assert!((displacement - expected).amax() < 1e-5, "at {index:?}");
            assert!((derivative - slope).amax() < 1e-5, "at {index:?}: {derivative}");
        }
    }

    #[test]
    fn the_derivative_is_that_of_the_interpolation() {
        let (mut field, ..) = linear_field();
        for (n, vector) in field.vectors.iter_mut().enumerate() {
            *vector = [(n * 7 % 11) as f32, (n * 5 % 13) as f32, (n * 3 % 7) as f32].map(|value| 0.1 * value);
        }
        let sampler = field.sampler();
        let point = field.grid.voxel_to_world().apply(&Point3::new(1.3, 2.4, 0.7));
        let (displacement, derivative) = sampler.with_derivative(&point);
        assert!((displacement - sampler.at(&point)).amax() < 1e-12);
        for axis in 0..3 {
            let step = Vector3::ith(axis, 1e-4);
            let change = (sampler.at(&(point + step)) - sampler.at(&(point - step))) / 2e-4;
            assert!((derivative.column(axis) - change).amax() < 1e-8, "along {axis}: {derivative}, {change}");
        }
        let outside = field.grid.voxel_to_world().apply(&Point3::new(-0.6, 1.0, 1.0));
        assert_eq!(sampler.with_derivative(&outside), (Vector3::zeros(), Matrix3::zeros()));
    }

    #[test]
    fn keeps_the_edge_for_half_a_voxel_and_is_zero_beyond() {
        let (field, ..) = linear_field();
        let at = |i, j, k| field.at_voxel(&Point3::new(i, j, k));
        assert_eq!(at(-0.5, 1.0, 1.0), at(0.0, 1.0, 1.0));
        assert_eq!(at(4.49, 1.0, 1.0), at(4.0, 1.0, 1.0));
        assert_ne!(at(4.0, 1.0, 1.0), Vector3::zeros());
        assert_eq!(at(-0.51, 1.0, 1.0), Vector3::zeros());
        assert_eq!(at(4.5, 1.0, 1.0), Vector3::zeros());
        assert_eq!(at(1.0, 3.5, 1.0), Vector3::zeros());
        assert_eq!(at(1.0, 1.0, -0.6), Vector3::zeros());
        assert_eq!(at(f64::NAN, 1.0, 1.0), Vector3::zeros());
    }

    #[test]
    fn reads_a_grid_of_a_single_slice() {
        let mut field = DisplacementField::zeros(Grid::axis_aligned([2, 1, 1], [1.0; 3]));
        field.vectors = vec![[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]];
        let point = Point3::new(0.5, 0.4, -0.4);
        let middle = Vector3::new(2.0, 2.0, 2.0);
        assert_eq!(field.at(&point), middle);
        // From the first voxel to the second, 1 mm along x, the displacement changes by (2, 0, −2) mm.
        let derivative = Matrix3::from_columns(&[Vector3::new(2.0, 0.0, -2.0), Vector3::zeros(), Vector3::zeros()]);
        assert_eq!(field.sampler().with_derivative(&point), (middle, derivative));
        assert!((field.longest_mm() - 14f64.sqrt()).abs() < 1e-12);
    }
}
