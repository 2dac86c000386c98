//! Weights on the world (x, y, z) components of each update of the displacement fields:
//! [`Options::restrict`](crate::Options::restrict).

use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::{Backend, Error};
use nalgebra::{Matrix3, Vector3};

/// A grid axis counts as a world axis if the sine of the angle between them is less than this. Headers store axes in
/// single precision.
const ALIGNED: f64 = 1e-6;

/// The matrix that multiplies each update (in voxels), for the given weights on its world components; `None` if all
/// weights are 1.
///
/// With A, the linear map from voxels to world millimetres, and the weights w, the matrix is A⁻¹·diag(w)·A, which
/// multiplies the world components of an update by w. If the axes of the grid are those of the world, in any order and
/// direction, the matrix is diagonal. Then a component of weight 0 stays exactly 0 in everything computed from the
/// updates. For slices, components out of the plane are removed.
pub(crate) fn matrix(grid: &Grid, weights: [f64; 3]) -> Option<Matrix3<f64>> {
    if weights == [1.0; 3] {
        return None;
    }
    let mut matrix = match world_axes(grid) {
        Some(axes) => Matrix3::from_diagonal(&Vector3::from(axes.map(|axis| weights[axis]))),
        None => {
            let weights = Matrix3::from_diagonal(&Vector3::from(weights));
            grid.world_to_voxel().matrix * weights * grid.voxel_to_world().matrix
        }
    };
    if grid.is_slice() {
        matrix.row_mut(2).fill(0.0);
    }
    Some(matrix)
}

/// Projects displacements, in voxels, orthogonally on the allowed directions: the result is 0 in each world component
/// of weight 0 and, for a slice, out of its plane.
///
/// For a grid along the world axes, the projection is exactly diagonal, as [`matrix`] is.
pub(crate) fn allowed(grid: &Grid, weights: [f64; 3]) -> [[f32; 3]; 3] {
    let to_world = grid.voxel_to_world().matrix;
    let mut held: Vec<Vector3<f64>> = match world_axes(grid) {
        Some(axes) => (0..3).filter(|n| weights[axes[*n]] == 0.0).map(|n| Vector3::ith(n, 1.0)).collect(),
        None => (0..3).filter(|n| weights[*n] == 0.0).map(|n| to_world.row(n).transpose()).collect(),
    };
    if grid.is_slice() {
        held.push(Vector3::z());
    }
    let mut projection = Matrix3::identity();
    for direction in held {
        // `held` lists the directions to remove from displacements. If the projection already removes a direction of
        // this list, the projected direction consists of rounding errors only and is left out. For example, for a slice
        // along the world axes, the list may contain the same direction twice.
        let rest = projection * direction;
        if rest.norm() > ALIGNED * direction.norm() {
            let unit = rest.normalize();
            projection -= unit * unit.transpose();
        }
    }
    std::array::from_fn(|row| std::array::from_fn(|column| projection[(row, column)] as f32))
}

/// Index of the world axis to which each axis of a grid is parallel; `None` if the grid is oblique.
fn world_axes(grid: &Grid) -> Option<[usize; 3]> {
    let of = |column: usize| {
        let direction = grid.direction.column(column);
        let axis = direction.iamax();
        (0..3).all(|row| row == axis || direction[row].abs() < ALIGNED).then_some(axis)
    };
    let axes = [of(0)?, of(1)?, of(2)?];
    (0..3).all(|axis| axes.contains(&axis)).then_some(axes)
}

/// Multiplies the updates of the fixed and of the moving image by a matrix. `scratch` is overwritten.
pub(crate) fn restrict<B: Backend>(
    backend: &B,
    matrix: &Matrix3<f64>,
    updates: &mut [B::Field; 2],
    scratch: &mut [B::Field; 2],
) -> Result<(), Error> {
    for (update, scratch) in updates.iter_mut().zip(&mut *scratch) {
        // Input and output have the same grid, so `resize_field` only multiplies the vectors by the matrix.
        backend.resize_field(update, &AffineTransform::identity(), matrix, scratch)?;
    }
    std::mem::swap(updates, scratch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use nalgebra::{Point3, Rotation3};

    use super::*;

    const WEIGHTS: [f64; 3] = [0.5, 0.0, 1.0];

    fn grid(direction: Matrix3<f64>) -> Grid {
        let (spacing, origin) = (Vector3::new(0.7, 1.1, 3.3), Point3::new(-3.0, 4.0, 5.0));
        Grid { shape: [5, 6, 7], spacing, origin, direction }
    }

    #[test]
    fn weights_of_one_need_no_matrix() {
        let oblique = grid(Rotation3::from_euler_angles(0.3, 0.2, 0.1).into_inner());
        assert_eq!(matrix(&oblique, [1.0; 3]), None);
    }

    #[test]
    fn along_the_world_axes_it_is_exactly_diagonal() {
        let tilted = 1e-8;
        let directions = [
            (Matrix3::identity(), [0.5, 0.0, 1.0]),
            (Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0)), [0.5, 0.0, 1.0]),
            // The voxel axes of this test grid run along world z, −x and y.
            (Matrix3::new(0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0), [1.0, 0.5, 0.0]),
            (Matrix3::new(1.0, tilted, 0.0, -tilted, 1.0, tilted, 0.0, -tilted, 1.0), [0.5, 0.0, 1.0]),
        ];
        for (direction, expected) in directions {
            assert_eq!(matrix(&grid(direction), WEIGHTS), Some(Matrix3::from_diagonal(&expected.into())));
        }
    }

    #[test]
    fn on_an_oblique_grid_the_world_components_are_weighted() {
        let grid = grid(Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner());
        let found = matrix(&grid, WEIGHTS).expect("there are weights");
        let to_world = grid.voxel_to_world().matrix;
        for update in [Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.0, 0.0, 3.0)] {
            let (before, after) = (to_world * update, to_world * found * update);
            let expected = Vector3::from(WEIGHTS).component_mul(&before);
            assert!((after - expected).norm() < 1e-12, "{after} for {expected}");
        }
    }

    #[test]
    fn moves_are_projected_on_what_is_free() {
        let oblique = grid(Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner());
        let projection = |grid: &Grid| Matrix3::from_fn(|row, column| f64::from(allowed(grid, WEIGHTS)[row][column]));
        let (found, to_world) = (projection(&oblique), oblique.voxel_to_world().matrix);
        for step in [Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.0, 0.0, 3.0)] {
            let free = found * step;
            assert!((to_world * free).y.abs() < 1e-6, "{free}");
            assert!(((step - free).dot(&free)).abs() < 1e-6, "the shortest way");
        }
        let turned = grid(Matrix3::new(0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0));
        assert_eq!(projection(&turned), Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, 0.0)));
        let slice = Grid { shape: [5, 6, 1], ..grid(Matrix3::identity()) };
        assert_eq!(projection(&slice), Matrix3::from_diagonal(&Vector3::new(1.0, 0.0, 0.0)));
    }

    #[test]
    fn slices_stay_in_their_plane() {
        let slice = Grid { shape: [5, 6, 1], ..grid(Rotation3::from_euler_angles(0.3, 0.0, 0.0).into_inner()) };
        let found = matrix(&slice, WEIGHTS).expect("there are weights");
        assert_eq!((found * Vector3::new(1.0, 1.0, 0.0)).z, 0.0);
        assert!((found * Vector3::new(1.0, 1.0, 0.0)).y > 0.0);
    }

    #[test]
    fn an_axis_tilted_by_the_limit_is_oblique() {
        let tilted = |sine: f64| grid(Matrix3::new(1.0, sine, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0));
        assert_eq!(world_axes(&tilted(0.9 * ALIGNED)), Some([0, 1, 2]));
        assert_eq!(world_axes(&tilted(ALIGNED)), None);
    }

    #[test]
    fn projections_do_not_depend_on_the_unit_of_length() {
        let oblique = Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner();
        for (shape, weights) in [([5, 6, 7], WEIGHTS), ([5, 6, 1], [0.0, 0.0, 1.0])] {
            let projection = |unit: f64| {
                let grid = Grid { shape, spacing: unit * grid(oblique).spacing, ..grid(oblique) };
                Matrix3::from_fn(|row, column| allowed(&grid, weights)[row][column])
            };
            for unit in [1e-5, 1e5] {
                assert!((projection(unit) - projection(1.0)).amax() < 1e-6, "{unit} {shape:?}");
            }
        }
    }
}
