//! The inverse of a displacement field in world coordinates.

use antsreg_core::{DisplacementField, FieldSampler, Grid};
use nalgebra::{Matrix3, Point3, Vector3};
use rayon::prelude::*;

/// Largest number of steps towards the preimage of a point.
const STEPS: usize = 50;
/// A preimage is found when the field maps it to the point within this distance, voxels of the output grid.
const TOLERANCE_VOXELS: f64 = 1e-4;

/// The inverse v of a displacement field u on the grid `onto`: x + u(x) = y for x = y + v(y) at every voxel centre y.
///
/// Newton's method for each voxel, which begins at x = y; a step that leads farther from y is halved. Where u is folded,
/// v is the best vector found.
pub fn invert(field: &DisplacementField, onto: &Grid) -> DisplacementField {
    let to_world = onto.voxel_to_world();
    let [nx, ny, _] = onto.shape;
    let tolerance = TOLERANCE_VOXELS * onto.spacing.min();
    let sampler = field.sampler();
    let mut inverse = DisplacementField::zeros(onto.clone());
    inverse.vectors.par_iter_mut().enumerate().with_min_len(1 << 10).for_each(|(voxel, vector)| {
        let index = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|n| n as f64);
        let point = to_world.apply(&Point3::from(index));
        let found = preimage(&sampler, &point, tolerance) - point;
        *vector = std::array::from_fn(|axis| found[axis] as f32);
    });
    inverse
}

/// The point that the field maps to `point`.
fn preimage(sampler: &FieldSampler, point: &Point3<f64>, tolerance: f64) -> Point3<f64> {
    let missing = |from: &Point3<f64>, displacement: &Vector3<f64>| point - (from + displacement);
    let mut best = *point;
    let mut left = missing(&best, &sampler.at(&best));
    let mut length = 1.0;
    for _ in 0..STEPS {
        if left.norm() <= tolerance {
            break;
        }
        let (_, derivative) = sampler.with_derivative(&best);
        let step = (Matrix3::identity() + derivative).try_inverse().map_or(left, |inverse| inverse * left);
        let next = best + step * length;
        let next_left = missing(&next, &sampler.at(&next));
        if next_left.norm() < left.norm() {
            (best, left, length) = (next, next_left, 1.0);
        } else {
            length *= 0.5;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_field() {
        let mut grid = Grid::axis_aligned([24, 20, 16], [2.0, 2.0, 2.5]);
        grid.origin = [-5.0, 3.0, 0.0].into();
        let mut field = DisplacementField::zeros(grid.clone());
        for (voxel, vector) in field.vectors.iter_mut().enumerate() {
            let [i, j, k] = [voxel % 24, voxel / 24 % 20, voxel / 480].map(|n| n as f64 / 4.0);
            *vector = [3.0 * (j + k).sin(), 3.0 * (i - k).cos(), 2.0 * (i + j).sin()].map(|mm| mm as f32);
        }
        // A grid within the image of the field.
        let mut onto = Grid::axis_aligned([15, 12, 10], [2.0, 2.0, 2.0]);
        onto.origin = [2.0, 10.0, 6.0].into();
        let inverse = invert(&field, &onto);
        let mut moved = 0.0f64;
        for (voxel, vector) in inverse.vectors.iter().enumerate() {
            let index = [voxel % 15, voxel / 15 % 12, voxel / 180].map(|n| n as f64);
            let point = onto.voxel_to_world().apply(&Point3::from(index));
            let from = point + Vector3::from(vector.map(f64::from));
            moved = moved.max((from - point).norm());
            // Tolerance: that of the search, 2e-4 mm, and single precision.
            assert!((from + field.at(&from) - point).norm() < 3e-4, "{voxel}");
        }
        assert!(moved > 3.0, "{moved}");
    }
}
