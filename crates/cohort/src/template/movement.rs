//! How far something moves a template's points.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{DisplacementField, Volume};
use nalgebra::Vector3;

/// Lengths of displacements where a mask counts, voxels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// Mean length; 0 if nothing counts.
    pub mean_voxels: f64,
    /// Largest length.
    pub largest_voxels: f64,
}

impl Movement {
    /// Of a field, where `mask` exceeds ½.
    pub fn of(field: &DisplacementField, mask: &Volume) -> Result<Movement, GridMismatch> {
        same_grid("the field and the mask", &field.grid, &mask.grid)?;
        let to_voxels = field.grid.world_to_voxel().matrix;
        let (mut count, mut sum, mut largest) = (0usize, 0.0, 0.0f64);
        for (vector, _) in field.vectors.iter().zip(&mask.voxels).filter(|(_, mask)| **mask > 0.5) {
            let length = (to_voxels * Vector3::from(vector.map(f64::from))).norm();
            count += 1;
            sum += length;
            largest = largest.max(length);
        }
        Ok(Movement { mean_voxels: sum / count.max(1) as f64, largest_voxels: largest })
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn lengths_are_in_voxels_where_the_mask_counts() {
        let grid = Grid::axis_aligned([3, 1, 1], [2.0, 1.0, 4.0]);
        let vectors = vec![[6.0, 0.0, 16.0], [2.0, 0.0, 0.0], [100.0; 3]];
        let field = DisplacementField { grid: grid.clone(), vectors };
        let mask = Volume { grid, voxels: vec![1.0, 1.0, 0.0] };
        let found = Movement::of(&field, &mask).expect("one grid");
        assert_eq!(found, Movement { mean_voxels: 3.0, largest_voxels: 5.0 });
    }
}
