//! The grid of a volume: its shape, and the map from voxel indices to world millimetres.

use nalgebra::{Matrix3, Point3, Vector3};
use rayon::prelude::*;

use crate::AffineTransform;

/// The errors of headers that do not describe a usable grid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GridError {
    /// The voxel axes are not independent: two of them have the same direction, or an axis has no length.
    #[error("the voxel-to-world matrix is singular (axis lengths {0:?} mm)")]
    Singular([f64; 3]),
    /// The axes are not at right angles, which ITK and this program cannot represent.
    #[error("the voxel axes are sheared: the cosine between two of them is {0:.4}, expected 0")]
    Sheared(f64),
    /// A number of the header is NaN or infinite.
    #[error("the voxel-to-world matrix holds a value that is not finite")]
    NotFinite,
    /// The image has no voxels along an axis.
    #[error("a dimension is zero: {0:?}")]
    Empty([usize; 3]),
}

/// Shape, spacing (mm), origin (mm) and axis directions of a volume, in RAS world coordinates.
///
/// Voxel index `(i, j, k)` has its centre at `origin + direction · (spacing ∘ (i, j, k))`; `i` runs fastest in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Number of voxels along each axis.
    pub shape: [usize; 3],
    /// Distance between voxel centres along each axis, mm.
    pub spacing: Vector3<f64>,
    /// World position of the centre of voxel (0, 0, 0), mm.
    pub origin: Point3<f64>,
    /// Directions of the voxel axes in the world, one in each column. The columns are orthonormal; both handednesses
    /// are allowed.
    pub direction: Matrix3<f64>,
}

/// Largest cosine between two voxel axes that counts as a rounded right angle, because headers store single-precision
/// numbers. Larger cosines are shear.
const SHEAR_TOLERANCE: f64 = 1e-3;

impl Grid {
    /// Makes a grid whose axes are those of the world (RAS), with the first voxel at the world origin.
    pub fn axis_aligned(shape: [usize; 3], spacing: [f64; 3]) -> Grid {
        Grid { shape, spacing: spacing.into(), origin: Point3::origin(), direction: Matrix3::identity() }
    }

    /// The grid that has a header's voxel-to-world map (mm, RAS). Rounding errors of the axes are removed; a sheared
    /// map is an error.
    pub fn from_voxel_to_world(shape: [usize; 3], voxel_to_world: &AffineTransform) -> Result<Grid, GridError> {
        let matrix = voxel_to_world.matrix;
        if shape.contains(&0) {
            return Err(GridError::Empty(shape));
        }
        if !matrix.iter().chain(voxel_to_world.translation.iter()).all(|v| v.is_finite()) {
            return Err(GridError::NotFinite);
        }
        let spacing = Vector3::from_fn(|axis, _| matrix.column(axis).norm());
        let axes = Matrix3::from_fn(|row, axis| matrix[(row, axis)] / spacing[axis]);
        if spacing.min() < f64::MIN_POSITIVE || axes.determinant().abs() < 1e-6 {
            return Err(GridError::Singular(spacing.into()));
        }
        let cosines = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| axes.column(a).dot(&axes.column(b)));
        let worst = cosines.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        if worst.abs() > SHEAR_TOLERANCE {
            return Err(GridError::Sheared(worst));
        }
        // The nearest orthonormal axes in the least-squares sense: the product U·Vᵀ of the two orthogonal factors of
        // the singular value decomposition.
        let svd = axes.svd(true, true);
        let direction = match (svd.u, svd.v_t) {
            (Some(u), Some(v_t)) => u * v_t,
            _ => return Err(GridError::Singular(spacing.into())),
        };
        // Axes that are orthonormal in the header are used unchanged.
        let direction = if (direction - axes).amax() < 1e-12 { axes } else { direction };
        Ok(Grid { shape, spacing, origin: Point3::from(voxel_to_world.translation), direction })
    }

    /// Number of voxels of the grid: the product of the voxel counts along the three axes.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The first and the last voxel index along each axis among the voxels for which `is_inside` is true, of values on
    /// this grid; `None` if there is no such voxel.
    pub fn bounds_of<T: Sync>(&self, voxels: &[T], is_inside: impl Fn(&T) -> bool + Sync) -> Option<[[usize; 3]; 2]> {
        let [nx, ny, _] = self.shape;
        let of_row = |(row, voxels): (usize, &[T])| {
            let first = voxels.iter().position(&is_inside)?;
            let last = voxels.iter().rposition(&is_inside)?;
            Some([[first, row % ny, row / ny], [last, row % ny, row / ny]])
        };
        let join = |[first, last]: [[usize; 3]; 2], [other_first, other_last]: [[usize; 3]; 2]| {
            let axes = [0, 1, 2];
            [axes.map(|n| first[n].min(other_first[n])), axes.map(|n| last[n].max(other_last[n]))]
        };
        voxels.par_chunks(nx).enumerate().with_min_len(64).filter_map(of_row).reduce_with(join)
    }

    /// Whether the grid has no voxels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The map from a voxel index to world mm.
    pub fn voxel_to_world(&self) -> AffineTransform {
        AffineTransform {
            matrix: self.direction * Matrix3::from_diagonal(&self.spacing),
            translation: self.origin.coords,
        }
    }

    /// The map from world mm to a fractional voxel index. For a slice, the third index is 0 for every point:
    /// two-dimensional images have no third direction, and a transform between two of them need not map one plane
    /// into the other.
    pub fn world_to_voxel(&self) -> AffineTransform {
        let mut matrix =
            Matrix3::from_diagonal(&self.spacing.map(|spacing| 1.0 / spacing)) * self.direction.transpose();
        if self.is_slice() {
            matrix.row_mut(2).fill(0.0);
        }
        AffineTransform { matrix, translation: -(matrix * self.origin.coords) }
    }

    /// Whether a fractional voxel index lies in the grid. By ITK's rule the grid ends half a voxel beyond the outermost
    /// centres, −½ ≤ index < n − ½ for n voxels along an axis.
    pub fn holds(&self, index: &Point3<f64>) -> bool {
        (0..3).all(|axis| index[axis] >= -0.5 && index[axis] < self.shape[axis] as f64 - 0.5)
    }

    /// Whether this is the grid of a two-dimensional image: one voxel along the third axis, more along the others.
    pub fn is_slice(&self) -> bool {
        self.shape[2] == 1 && self.shape[0] > 1 && self.shape[1] > 1
    }

    /// Whether the grid is a slice perpendicular to the world's third axis. ITK assumes this of all two-dimensional
    /// images.
    pub fn is_slice_across_z(&self) -> bool {
        self.is_slice() && self.direction[(2, 2)].abs() > 1.0 - SHEAR_TOLERANCE * SHEAR_TOLERANCE
    }

    /// For each voxel axis: the world axis nearest to it (0 right, 1 anterior, 2 superior), and whether the voxel
    /// axis runs against that world axis. Each world axis is assigned once, so that the sum of the cosines is
    /// largest.
    pub fn nearest_axes(&self) -> [(usize, bool); 3] {
        const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let score = |order: &[usize; 3]| (0..3).map(|axis| self.direction[(order[axis], axis)].abs()).sum::<f64>();
        let best = ORDERS.iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or(&ORDERS[0]);
        std::array::from_fn(|axis| (best[axis], self.direction[(best[axis], axis)] < 0.0))
    }

    /// Length of the longest side of the field of view, mm.
    pub fn longest_side_mm(&self) -> f64 {
        (0..3).map(|axis| self.shape[axis] as f64 * self.spacing[axis]).fold(0.0, f64::max)
    }

    /// World position of the middle of the grid, mm.
    pub fn centre(&self) -> Point3<f64> {
        let middle = Point3::from(Vector3::from_fn(|axis, _| (self.shape[axis] as f64 - 1.0) / 2.0));
        self.voxel_to_world().apply(&middle)
    }

    /// Makes the grid coarser by whole factors, as ITK's shrink filter does: for a factor f, n voxels along an axis
    /// become ⌊n/f⌋ (at least 1), the spacing is multiplied by f, and the voxels are centred in the same field of view.
    /// The thickness of a slice does not change.
    pub fn shrink(&self, mut factors: [usize; 3]) -> Grid {
        if self.is_slice() {
            factors[2] = 1;
        }
        let shape = std::array::from_fn(|axis| (self.shape[axis] / factors[axis]).max(1));
        let first = Vector3::from_fn(|axis, _| {
            (self.shape[axis] as f64 - 1.0) / 2.0 - factors[axis] as f64 * (shape[axis] as f64 - 1.0) / 2.0
        });
        Grid {
            shape,
            spacing: Vector3::from_fn(|axis, _| self.spacing[axis] * factors[axis] as f64),
            origin: self.voxel_to_world().apply(&Point3::from(first)),
            direction: self.direction,
        }
    }

    /// Whether both grids have the same shape and place every voxel at the same world position, to within
    /// `tolerance_mm`. For slices, only distances in the plane count.
    pub fn matches(&self, other: &Grid, tolerance_mm: f64) -> bool {
        let (a, b) = (self.voxel_to_world(), other.voxel_to_world());
        self.shape == other.shape
            && [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].iter().all(|corner| {
                let index = Point3::from(Vector3::from_fn(|axis, _| (corner[axis] * (self.shape[axis] - 1)) as f64));
                let mut apart = a.apply(&index) - b.apply(&index);
                if self.is_slice() {
                    let across = self.direction.column(2);
                    apart -= across * across.dot(&apart);
                }
                apart.norm() <= tolerance_mm
            })
    }
}
