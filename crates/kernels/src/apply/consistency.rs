//! Inverse consistency of two displacement fields.

use antsreg_core::{DisplacementField, GridMismatch, Volume, same_grid::same_grid};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use crate::InverseConsistency;

/// Statistics of ‖u(x) + v(x + u(x))‖ over the voxel centres x of `first`'s grid, in voxels of that grid; u is `first`,
/// v is `then`. With a `mask` on that grid, only voxels where the mask exceeds ½ count. The fields may lie on different
/// grids.
///
/// # Errors
/// A mask on another grid.
pub fn inverse_consistency(
    first: &DisplacementField,
    then: &DisplacementField,
    mask: Option<&Volume>,
) -> Result<InverseConsistency, GridMismatch> {
    if let Some(mask) = mask {
        same_grid("the first displacement field and the mask", &first.grid, &mask.grid)?;
    }
    let [nx, ny, _] = first.grid.shape;
    let to_world = first.grid.voxel_to_world();
    let to_voxel = first.grid.world_to_voxel().matrix;
    let then = then.sampler();
    let row_sums: Vec<(u64, f64, f64)> = (0..first.grid.len() / nx)
        .into_par_iter()
        .map(|row| {
            let (mut count, mut sum, mut largest) = (0, 0.0, 0f64);
            for i in (0..nx).filter(|i| mask.is_none_or(|mask| mask.voxels[row * nx + i] > 0.5)) {
                let u = Vector3::from(first.vectors[row * nx + i].map(f64::from));
                let index = Point3::new(i as f64, (row % ny) as f64, (row / ny) as f64);
                let left = u + then.at(&(to_world.apply(&index) + u));
                let distance = (to_voxel * left).norm();
                count += 1;
                sum += distance;
                largest = largest.max(distance);
            }
            (count, sum, largest)
        })
        .collect();
    // The sums of rows are added in order, so that the result does not depend on the number of threads.
    let (voxels, sum, largest) =
        row_sums.iter().fold((0, 0.0, 0f64), |(n, sum, largest), row| (n + row.0, sum + row.1, largest.max(row.2)));
    let largest_voxels = if voxels > 0 { largest } else { f64::NAN };
    Ok(InverseConsistency { voxels, mean_voxels: sum / voxels as f64, largest_voxels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{noise_field, oblique_grid, world};

    #[test]
    fn is_the_way_there_and_back() {
        let first = noise_field(oblique_grid([9, 7, 5], 1), 3);
        let then = noise_field(oblique_grid([6, 8, 7], 2), 4);
        let mut mask = Volume::filled(first.grid.clone(), 0.0);
        mask.voxels.iter_mut().step_by(3).for_each(|value| *value = 1.0);
        for mask in [None, Some(&mask)] {
            let (mut count, mut sum, mut largest) = (0, 0.0, 0f64);
            for n in (0..first.grid.len()).step_by(if mask.is_some() { 3 } else { 1 }) {
                let start = world(&first.grid, n);
                let there = start + first.at(&start);
                let back = there + then.at(&there);
                let to_voxel = first.grid.world_to_voxel();
                let distance = (to_voxel.apply(&back) - to_voxel.apply(&start)).norm();
                (count, sum, largest) = (count + 1, sum + distance, largest.max(distance));
            }
            let found = inverse_consistency(&first, &then, mask).unwrap();
            assert_eq!(found.voxels, count);
            assert!((found.mean_voxels - sum / count as f64).abs() < 1e-9, "{found:?}");
            assert!((found.largest_voxels - largest).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn opposite_shifts_are_consistent() {
        let grid = oblique_grid([9, 7, 5], 1);
        let shift = |x| DisplacementField { vectors: vec![[x, 0.0, 0.0]; grid.len()], grid: grid.clone() };
        let mut middle = Volume::filled(grid.clone(), 0.0);
        middle.voxels[(2 * 7 + 3) * 9 + 4] = 1.0;
        let found = inverse_consistency(&shift(0.5), &shift(-0.5), Some(&middle)).unwrap();
        assert_eq!(found, InverseConsistency { voxels: 1, mean_voxels: 0.0, largest_voxels: 0.0 });
        let nothing =
            inverse_consistency(&shift(0.5), &shift(-0.5), Some(&Volume::filled(grid.clone(), 0.0))).unwrap();
        assert!(nothing.voxels == 0 && nothing.mean_voxels.is_nan() && nothing.largest_voxels.is_nan());
        let elsewhere = Volume::filled(oblique_grid([9, 7, 5], 2), 1.0);
        assert!(inverse_consistency(&shift(0.5), &shift(-0.5), Some(&elsewhere)).is_err());
    }
}
