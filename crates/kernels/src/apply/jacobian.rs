//! Jacobian determinants of displacement fields.

use antsreg_core::{DisplacementField, Grid, Volume};
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

/// The Jacobian determinant det(I + ∂u/∂x) at each voxel of the field's grid, in physical space: central differences,
/// one-sided at the border, derivative 0 along an axis of one voxel.
pub fn jacobian(field: &DisplacementField) -> Volume {
    let [nx, ny, nz] = field.grid.shape;
    // Chain rule, with voxel indices: ∂u/∂x = ∂u/∂index · ∂index/∂x.
    let index_per_mm = field.grid.world_to_voxel().matrix;
    let mut voxels = vec![0.0; field.grid.len()];
    voxels.par_chunks_exact_mut(nx).enumerate().with_min_len(16).for_each(|(row, out)| {
        let (j, k) = (row % ny, row / ny);
        let (below, above, per_y) = neighbours(j, ny);
        let [south, north] = [below, above].map(|j| &field.vectors[(k * ny + j) * nx..][..nx]);
        let (below, above, per_z) = neighbours(k, nz);
        let [under, over] = [below, above].map(|k| &field.vectors[(k * ny + j) * nx..][..nx]);
        let here = &field.vectors[row * nx..][..nx];
        for (i, out) in out.iter_mut().enumerate() {
            let (left, right, per_x) = neighbours(i, nx);
            let per_index = Matrix3::from_columns(&[
                slope(&here[left], &here[right], per_x),
                slope(&south[i], &north[i], per_y),
                slope(&under[i], &over[i], per_z),
            ]);
            *out = (Matrix3::identity() + per_index * index_per_mm).determinant() as f32;
        }
    });
    Volume { grid: field.grid.clone(), voxels }
}

/// The smallest Jacobian determinant at each voxel over all combinations of one-sided differences along the axes, in
/// physical space. These are the determinants at the corners of the trilinear cells that meet at the voxel. At the
/// border only one of the two differences exists; along an axis of one voxel the derivative is 0. NaN if any of the
/// determinants is NaN.
pub fn smallest_at_corners(field: &DisplacementField) -> Volume {
    let shape @ [nx, ny, _] = field.grid.shape;
    let (to_world, strides) = (field.grid.voxel_to_world().matrix, [1, nx, nx * ny]);
    let share = 1.0 / to_world.determinant();
    let position = |n: usize| Vector3::from(field.vectors[n].map(f64::from));
    let mut voxels = vec![0.0; field.grid.len()];
    voxels.par_iter_mut().enumerate().with_min_len(1 << 12).for_each(|(n, out)| {
        let at = [n % nx, n / nx % ny, n / (nx * ny)];
        let edges: [[Vector3<f64>; 2]; 3] = std::array::from_fn(|axis| {
            let below = (at[axis] > 0).then(|| position(n) - position(n - strides[axis]));
            let above = (at[axis] + 1 < shape[axis]).then(|| position(n + strides[axis]) - position(n));
            let sides = [below.or(above), above.or(below)];
            sides.map(|edge| to_world.column(axis) + edge.unwrap_or_default())
        });
        let determinants = (0..8).map(|corner| {
            let [a, b, c] = std::array::from_fn(|axis| edges[axis][corner >> axis & 1]);
            share * a.dot(&b.cross(&c))
        });
        *out = determinants.fold(f64::INFINITY, worse) as f32;
    });
    Volume { grid: field.grid.clone(), voxels }
}

/// The smaller of two determinants; NaN if one of them is NaN.
#[inline]
fn worse(a: f64, b: f64) -> f64 {
    if b < a || b.is_nan() { b } else { a }
}

/// The Jacobian determinant det(I + ∂u/∂x) by fourth-order differences over five voxels, with the outermost voxel
/// repeated beyond the border, as in ANTs' `CreateJacobianDeterminantImage`.
pub fn jacobian_of_fourth_order(field: &DisplacementField) -> Volume {
    let Grid { shape, .. } = field.grid;
    let index_per_mm = field.grid.world_to_voxel().matrix;
    let stride = [1, shape[0], shape[0] * shape[1]];
    let mut voxels = vec![0.0; field.grid.len()];
    voxels.par_iter_mut().enumerate().with_min_len(1 << 12).for_each(|(n, out)| {
        let index = [n % shape[0], n / stride[1] % shape[1], n / stride[2]];
        let per_index = [0, 1, 2].map(|axis| {
            let at = |step: isize| {
                let moved = index[axis].saturating_add_signed(step).min(shape[axis] - 1);
                Vector3::from(field.vectors[n - index[axis] * stride[axis] + moved * stride[axis]].map(f64::from))
            };
            ((at(1) - at(-1)) * 8.0 - (at(2) - at(-2))) / 12.0
        });
        *out = (Matrix3::identity() + Matrix3::from_columns(&per_index) * index_per_mm).determinant() as f32;
    });
    Volume { grid: field.grid.clone(), voxels }
}

/// The two voxels of an axis whose difference gives the derivative at voxel `at`, and 1 / the distance between them (0
/// if they are the same voxel).
#[inline]
fn neighbours(at: usize, length: usize) -> (usize, usize, f64) {
    let (below, above) = (at.saturating_sub(1), (at + 1).min(length - 1));
    (below, above, if above > below { 1.0 / (above - below) as f64 } else { 0.0 })
}

#[inline]
fn slope(below: &[f32; 3], above: &[f32; 3], factor: f64) -> Vector3<f64> {
    Vector3::from_fn(|c, _| (f64::from(above[c]) - f64::from(below[c])) * factor)
}

#[cfg(test)]
mod tests {
    use nalgebra::Point3;

    use super::*;
    use crate::apply::test_scenes::{noise_field, oblique_grid, world};

    #[test]
    fn a_linear_field_has_its_own_determinant_everywhere() {
        let slope = Matrix3::new(0.1, -0.2, 0.05, 0.3, 0.0, -0.1, 0.02, 0.15, 0.2);
        for grid in [oblique_grid([9, 7, 5], 1), oblique_grid([2, 3, 4], 2)] {
            let mut field = DisplacementField::zeros(grid);
            for n in 0..field.grid.len() {
                let u = slope * world(&field.grid, n).coords;
                field.vectors[n] = [u.x as f32, u.y as f32, u.z as f32];
            }
            let expected = (Matrix3::identity() + slope).determinant();
            for found in jacobian(&field).voxels {
                // Tolerance: the displacements, of about 10 mm, are in single precision, and their differences are over
                // steps of 0.8 mm.
                assert!((f64::from(found) - expected).abs() < 1e-5, "{found}, expected {expected}");
            }
        }
    }

    #[test]
    fn differences_of_fourth_order_are_exact_for_cubes() {
        let grid = oblique_grid([9, 8, 7], 1);
        let mut field = DisplacementField::zeros(grid);
        let to_voxel = field.grid.world_to_voxel();
        for n in 0..field.grid.len() {
            // The first component of this field is a cubic function of the first index.
            let i = to_voxel.apply(&world(&field.grid, n)).x - 4.0;
            field.vectors[n] = [(0.01 * i.powi(3)) as f32, 0.0, 0.0];
        }
        let found = jacobian_of_fourth_order(&field);
        for (n, found) in found.voxels.iter().enumerate() {
            let i = (n % 9) as f64;
            if (2.0..=6.0).contains(&i) {
                let expected = 1.0 + 0.03 * (i - 4.0).powi(2) * to_voxel.matrix[(0, 0)];
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{found}, expected {expected}");
            }
        }
        // At the border the outermost voxel is repeated, so the fourth-order difference is 8·(u(1) − u(0)) − (u(2) −
        // u(0)).
        let [a, b, c] = [-4.0f64, -3.0, -2.0].map(|i| 0.01 * i.powi(3));
        let expected = 1.0 + (8.0 * (b - a) - (c - a)) / 12.0 * to_voxel.matrix[(0, 0)];
        assert!((f64::from(found.voxels[0]) - expected).abs() < 1e-5, "{}, expected {expected}", found.voxels[0]);
    }

    /// The Jacobian determinant det(I + ∂u/∂x) at a voxel, with the derivatives per mm along the world axes. These are
    /// computed from the differences of u along the voxel axes.
    fn naive(field: &DisplacementField, at: [usize; 3]) -> f64 {
        let Grid { shape, spacing, direction, .. } = &field.grid;
        let vector = |index: [usize; 3]| {
            let [i, j, k] = index;
            Vector3::from(field.vectors[(k * shape[1] + j) * shape[0] + i].map(f64::from))
        };
        let mut gradient = Matrix3::identity();
        for axis in 0..3 {
            let (mut below, mut above) = (at, at);
            below[axis] = at[axis].max(1) - 1;
            above[axis] = (at[axis] + 1).min(shape[axis] - 1);
            let steps = above[axis] - below[axis];
            if steps > 0 {
                let per_mm = (vector(above) - vector(below)) / (steps as f64 * spacing[axis]);
                gradient += per_mm * direction.column(axis).transpose();
            }
        }
        gradient.determinant()
    }

    #[test]
    fn is_the_determinant_of_differences_along_each_voxel_axis() {
        for shape in [[9, 7, 5], [1, 4, 6], [5, 2, 1]] {
            let field = noise_field(oblique_grid(shape, 1), 3);
            for (n, found) in jacobian(&field).voxels.into_iter().enumerate() {
                let at = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
                let expected = naive(&field, at);
                assert!((f64::from(found) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{at:?}");
            }
        }
    }

    #[test]
    fn a_mirrored_middle_folds() {
        let grid = Grid::axis_aligned([9, 3, 3], [2.0, 1.0, 1.0]);
        let mut field = DisplacementField::zeros(grid);
        for n in 0..field.grid.len() {
            let Point3 { coords } = world(&field.grid, n);
            field.vectors[n] =
                [if (4.0..=12.0).contains(&coords.x) { -2.0 * (coords.x - 8.0) as f32 } else { 0.0 }, 0.0, 0.0];
        }
        let determinants = jacobian(&field);
        assert!((determinants.voxels[4] + 1.0).abs() < 1e-6);
        assert!((determinants.voxels[0] - 1.0).abs() < 1e-6);
    }

    /// The voxel next to `at` along an axis, on one side; `None` beyond the border.
    fn next_to(shape: [usize; 3], at: [usize; 3], axis: usize, side: isize) -> Option<[usize; 3]> {
        let mut other = at;
        other[axis] = at[axis].checked_add_signed(side).filter(|index| *index < shape[axis])?;
        Some(other)
    }

    #[test]
    fn the_smallest_at_corners_is_that_of_all_combinations_of_edges() {
        for shape in [[5, 4, 6], [1, 4, 6], [5, 2, 1]] {
            let field = noise_field(oblique_grid(shape, 1), 3);
            let place = |[i, j, k]: [usize; 3]| {
                let n = (k * shape[1] + j) * shape[0] + i;
                world(&field.grid, n).coords + Vector3::from(field.vectors[n].map(f64::from))
            };
            let volume = field.grid.voxel_to_world().matrix.determinant();
            for (n, found) in smallest_at_corners(&field).voxels.into_iter().enumerate() {
                let at = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
                // The edges along each axis from the voxel to its neighbours, in the direction of the axis.
                let edges = [0, 1, 2].map(|axis| {
                    if shape[axis] == 1 {
                        return vec![field.grid.voxel_to_world().matrix.column(axis).into_owned()];
                    }
                    let edge = |side: isize| {
                        next_to(shape, at, axis, side).map(|other| (place(other) - place(at)) * side as f64)
                    };
                    [-1, 1].into_iter().filter_map(edge).collect()
                });
                let mut expected = f64::INFINITY;
                for a in &edges[0] {
                    for b in &edges[1] {
                        for c in &edges[2] {
                            expected = expected.min(Matrix3::from_columns(&[*a, *b, *c]).determinant() / volume);
                        }
                    }
                }
                assert!((f64::from(found) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{shape:?}, {at:?}");
            }
        }
    }

    #[test]
    fn the_smallest_at_corners_is_nan_where_any_is() {
        let shape = [5, 4, 6];
        let mut field = noise_field(oblique_grid(shape, 1), 3);
        let unknown = [2usize, 1, 3];
        field.vectors[2 + 5 + 20 * 3][1] = f32::NAN;
        for (n, found) in smallest_at_corners(&field).voxels.into_iter().enumerate() {
            let at = [n % 5, n / 5 % 4, n / 20];
            // The edges at a voxel end there and at its neighbours along the axes.
            let distance: usize = (0..3).map(|axis| at[axis].abs_diff(unknown[axis])).sum();
            assert_eq!(found.is_nan(), distance <= 1, "{at:?}");
        }
    }

    #[test]
    fn differences_of_fourth_order_are_taken_along_each_voxel_axis() {
        for shape in [[5, 4, 6], [1, 4, 6], [5, 2, 1]] {
            let field = noise_field(oblique_grid(shape, 1), 3);
            for (n, found) in jacobian_of_fourth_order(&field).voxels.into_iter().enumerate() {
                let at = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
                let mut gradient = Matrix3::identity();
                for axis in 0..3 {
                    let along = |step: isize| {
                        let mut voxel = at;
                        voxel[axis] = (at[axis] as isize + step).clamp(0, shape[axis] as isize - 1) as usize;
                        let [i, j, k] = voxel;
                        Vector3::from(field.vectors[(k * shape[1] + j) * shape[0] + i].map(f64::from))
                    };
                    let per_voxel = (along(-2) - along(-1) * 8.0 + along(1) * 8.0 - along(2)) / 12.0;
                    let per_mm = per_voxel / field.grid.spacing[axis];
                    gradient += per_mm * field.grid.direction.column(axis).transpose();
                }
                let expected = gradient.determinant();
                assert!((f64::from(found) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{shape:?}, {at:?}");
            }
        }
    }
}
