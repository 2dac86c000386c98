//! Mean and largest displacement of a template's points.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{DisplacementField, Grid, Volume};
use nalgebra::Vector3;
use rayon::prelude::*;

use super::means::PIECE;

/// Mean and largest length of displacement vectors inside a mask, voxels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// Mean length of the displacement vectors inside the mask, voxels; 0 if the mask is empty.
    pub mean_voxels: f64,
    /// Length of the longest displacement vector inside the mask, voxels.
    pub largest_voxels: f64,
}

impl Movement {
    /// Lengths of the vectors of a displacement field where `mask` exceeds ½.
    pub fn of(field: &DisplacementField, mask: &Volume) -> Result<Movement, GridMismatch> {
        Movement::by(&field.grid, &field.vectors, mask, |_, vector| vector)
    }

    /// Lengths of the differences `field` − `other` of two displacement fields, where `mask` exceeds ½.
    pub fn beyond(
        field: &DisplacementField,
        other: &DisplacementField,
        mask: &Volume,
    ) -> Result<Movement, GridMismatch> {
        same_grid("the fields", &field.grid, &other.grid)?;
        let beyond = |n: usize, vector: Vector3<f32>| vector - Vector3::from(other.vectors[n]);
        Movement::by(&field.grid, &field.vectors, mask, beyond)
    }

    /// Mean and largest length, in voxels, of vectors where `mask` exceeds ½. `displacement` returns the vector of a
    /// voxel in mm, given the index of the voxel and the voxel's entry in the list `vectors`.
    fn by(
        grid: &Grid,
        vectors: &[[f32; 3]],
        mask: &Volume,
        displacement: impl Fn(usize, Vector3<f32>) -> Vector3<f32> + Sync,
    ) -> Result<Movement, GridMismatch> {
        same_grid("the displacement field and the mask", grid, &mask.grid)?;
        let to_voxels = grid.world_to_voxel().matrix;
        // The lengths are summed in chunks in parallel, and the chunks are added in order. So the sum does not depend
        // on the number of threads.
        let of_piece = |(piece, (vectors, mask)): (usize, (&[[f32; 3]], &[f32]))| {
            let (mut count, mut sum, mut largest) = (0usize, 0.0, 0.0f64);
            for (n, (vector, _)) in vectors.iter().zip(mask).enumerate().filter(|(_, (_, mask))| **mask > 0.5) {
                let length = (to_voxels * displacement(piece * PIECE + n, Vector3::from(*vector)).cast()).norm();
                count += 1;
                sum += length;
                largest = largest.max(length);
            }
            (count, sum, largest)
        };
        let pieces = vectors.par_chunks(PIECE).zip(mask.voxels.par_chunks(PIECE));
        let pieces: Vec<(usize, f64, f64)> = pieces.enumerate().map(of_piece).collect();
        let (count, sum, largest) = pieces
            .into_iter()
            .fold((0, 0.0, 0.0f64), |all, piece| (all.0 + piece.0, all.1 + piece.1, all.2.max(piece.2)));
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
        let mask = Volume { grid, voxels: vec![1.0, 0.51, 0.5] };
        let found = Movement::of(&field, &mask).expect("one grid");
        assert_eq!(found, Movement { mean_voxels: 3.0, largest_voxels: 5.0 });
        // The field `other` is subtracted from the test field. This shortens both vectors inside the mask by 2 mm along
        // the first axis.
        let other = DisplacementField { vectors: vec![[2.0, 0.0, 0.0]; 3], ..field.clone() };
        let found = Movement::beyond(&field, &other, &mask).expect("one grid");
        assert_eq!(found, Movement { mean_voxels: 0.5 * 20f64.sqrt(), largest_voxels: 20f64.sqrt() });
    }

    #[test]
    fn pieces_make_no_difference() {
        let grid = Grid::axis_aligned([2 * PIECE + 77, 1, 1], [1.0; 3]);
        let mask = Volume::filled(grid.clone(), 1.0);
        // The vectors differ at all voxels, and those of the second field are all 2 mm shorter.
        let field = |less: f32| DisplacementField {
            grid: grid.clone(),
            vectors: (0..grid.len()).map(|n| [0.0, n as f32 - less, 0.0]).collect(),
        };
        let found = Movement::beyond(&field(0.0), &field(2.0), &mask).expect("one grid");
        assert_eq!(found, Movement { mean_voxels: 2.0, largest_voxels: 2.0 });
    }
}
