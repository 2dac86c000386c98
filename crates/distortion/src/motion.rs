//! Rigid motion of the head between two corrected images.

use antsreg_core::{AffineTransform, Grid};
use nalgebra::{Matrix3, Rotation3, SMatrix, SVector, Vector3};
use rayon::prelude::*;

/// Number of parameters: translation, then rotation.
const PARAMETERS: usize = 6;

/// Finds the small rigid motion after which `moved` is most similar to `still`, images on `grid`: x is mapped to points
/// of `moved`, RAS mm. With `opposite` encodings along `axis` there is no translation along the axis, because a shift
/// of the displacement has the same effect. `None` if the images do not determine the motion.
pub(crate) fn between(
    grid: &Grid,
    still: &[f32],
    moved: &[f32],
    axis: usize,
    opposite: bool,
) -> Option<AffineTransform> {
    let [nx, ny, nz] = grid.shape;
    let half = Vector3::from(grid.shape.map(|n| (n as f64 - 1.0) / 2.0));
    let used: Vec<usize> = (0..PARAMETERS).filter(|n| !opposite || *n != axis).collect();
    let of_slice = |z: usize| {
        let mut matrix = SMatrix::<f64, PARAMETERS, PARAMETERS>::zeros();
        let mut vector = SVector::<f64, PARAMETERS>::zeros();
        for y in 1..ny.max(1) - 1 {
            for x in 1..nx.max(1) - 1 {
                let at = (z * ny + y) * nx + x;
                let strides = [1, nx, nx * ny];
                let mean = |n: usize| 0.5 * (f64::from(still[n]) + f64::from(moved[n]));
                let slope = Vector3::from_fn(|axis, _| {
                    (mean(at + strides[axis]) - mean(at - strides[axis])) / (2.0 * grid.spacing[axis])
                });
                let point = (Vector3::new(x as f64, y as f64, z as f64) - half).component_mul(&grid.spacing);
                let turn = point.cross(&slope);
                let changes =
                    SVector::<f64, PARAMETERS>::new(slope[0], slope[1], slope[2], turn[0], turn[1], turn[2]);
                let difference = f64::from(still[at]) - f64::from(moved[at]);
                matrix += changes * changes.transpose();
                vector += changes * difference;
            }
        }
        (matrix, vector)
    };
    let slices: Vec<_> = (1..nz.max(1) - 1).into_par_iter().map(of_slice).collect();
    let add = |(matrix, vector): (SMatrix<f64, PARAMETERS, PARAMETERS>, SVector<f64, PARAMETERS>), slice: &(_, _)| {
        (matrix + slice.0, vector + slice.1)
    };
    let (matrix, vector) = slices.iter().fold((SMatrix::zeros(), SVector::zeros()), add);
    let matrix = matrix.select_rows(&used).select_columns(&used);
    let found = matrix.cholesky()?.solve(&vector.select_rows(&used));
    let mut motion = [0.0; PARAMETERS];
    used.iter().zip(found.iter()).for_each(|(n, value)| motion[*n] = *value);
    let turn = Rotation3::new(Vector3::new(motion[3], motion[4], motion[5])).into_inner();
    let shift = Vector3::new(motion[0], motion[1], motion[2]);
    (turn.iter().chain(shift.iter()).all(|value| value.is_finite())).then(|| in_world(grid, &turn, &shift))
}

/// A motion about the grid's centre along its axes, as a map of world points.
fn in_world(grid: &Grid, turn: &Matrix3<f64>, shift: &Vector3<f64>) -> AffineTransform {
    let matrix = grid.direction * turn * grid.direction.transpose();
    let centre = grid.centre().coords;
    AffineTransform { matrix, translation: centre + grid.direction * shift - matrix * centre }
}

/// The root mean square distance by which a motion moves the points of a grid's box, mm: its six faces' centres.
pub(crate) fn size_mm(grid: &Grid, motion: &AffineTransform) -> f64 {
    let side = |n: usize| {
        let length =
            0.5 * grid.shape[n / 2] as f64 * grid.spacing[n / 2] * if n.is_multiple_of(2) { 1.0 } else { -1.0 };
        let point = grid.centre() + grid.direction.column(n / 2) * length;
        (motion.apply(&point) - point).norm_squared()
    };
    ((0..6).map(side).sum::<f64>() / 6.0).sqrt()
}
