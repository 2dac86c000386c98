//! Voxelwise differences of two images on the same grid.

use std::ops::Range;

use rayon::prelude::*;

use crate::Volume;
use crate::same_grid::{GridMismatch, same_grid};

/// Statistics of the differences of two images over all voxels, or over the voxels of a mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Number of voxels at which the two images were compared. If it is 0, all measures of their difference are NaN.
    pub voxels: u64,
    /// Root mean square difference, √(mean (a − b)²), as in Li (2015, eq. 5).
    pub root_mean_square: f64,
    /// Mean absolute difference, mean |a − b|, as in Luo (2015).
    pub mean_absolute: f64,
    /// The largest |a − b|.
    pub largest_absolute: f64,
    /// Pearson's correlation of the two images; NaN if either image is constant.
    pub correlation: f64,
}

impl Comparison {
    /// Compares two images on one grid; with a `mask`, only at voxels where the mask exceeds ½.
    pub fn between(first: &Volume, second: &Volume, mask: Option<&Volume>) -> Result<Comparison, GridMismatch> {
        same_grid("the images", &first.grid, &second.grid)?;
        if let Some(mask) = mask {
            same_grid("the compared images and the mask", &first.grid, &mask.grid)?;
        }
        let counts = |n: &usize| mask.is_none_or(|mask| mask.voxels[*n] > 0.5);
        let values = |n: usize| (f64::from(first.voxels[n]), f64::from(second.voxels[n]));
        let pairs = |piece: Range<usize>| piece.filter(counts).map(values);
        let of_piece = |piece| {
            pairs(piece).fold(([0.0; 5], 0.0_f64), |(sums, largest), (a, b)| {
                let difference = (a - b).abs();
                let squared = difference * difference;
                (add(sums, [1.0, a, b, squared, difference]), largest.max(difference))
            })
        };
        let pieces = of_pieces(first.voxels.len(), of_piece);
        let largest = pieces.iter().fold(0.0, |largest, piece| piece.1.max(largest));
        let [count, sum_a, sum_b, squares, absolute] = pieces.iter().fold([0.0; 5], |sum, piece| add(sum, piece.0));
        let (mean_a, mean_b) = (sum_a / count, sum_b / count);
        // Variances and covariance are computed in a second pass over the voxels. Computed from sums of squares, they
        // would lose digits in images with large intensities.
        let of_piece = |piece| {
            pairs(piece).fold([0.0; 3], |sums, (a, b)| {
                let (a, b) = (a - mean_a, b - mean_b);
                add(sums, [a * a, b * b, a * b])
            })
        };
        let [aa, bb, ab] = of_pieces(first.voxels.len(), of_piece).into_iter().fold([0.0; 3], add);
        Ok(Comparison {
            voxels: count as u64,
            root_mean_square: (squares / count).sqrt(),
            mean_absolute: absolute / count,
            largest_absolute: if count > 0.0 { largest } else { f64::NAN },
            // For a constant image this is 0/0, which is NaN.
            correlation: ab / (aa.sqrt() * bb.sqrt()),
        })
    }
}

/// Number of voxels that one task compares.
const PIECE: usize = 1 << 16;

/// Calls `of_piece` for each piece of `count` voxels, on all threads. Returns the results in order, so that what is made
/// of them does not depend on the threads.
fn of_pieces<R: Send>(count: usize, of_piece: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let pieces = (0..count.div_ceil(PIECE)).into_par_iter();
    pieces.map(|piece| of_piece(piece * PIECE..count.min((piece + 1) * PIECE))).collect()
}

fn add<const N: usize>(sums: [f64; N], terms: [f64; N]) -> [f64; N] {
    std::array::from_fn(|n| sums[n] + terms[n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    fn image(voxels: &[f32]) -> Volume {
        Volume { grid: Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    #[test]
    fn small_images_by_hand() {
        let (a, b) = (image(&[1.0, 2.0, 4.0, 9.0]), image(&[2.0, 2.0, 1.0, 7.0]));
        let found = Comparison::between(&a, &b, None).unwrap();
        assert_eq!(found.voxels, 4);
        assert_eq!(found.root_mean_square, (14.0f64 / 4.0).sqrt());
        assert_eq!(found.mean_absolute, 1.5);
        assert_eq!(found.largest_absolute, 3.0);
        // The deviations of the two images from their means are −3, −2, 0, 5 and −1, −1, −2, 4.
        assert!((found.correlation - 25.0 / (38.0f64 * 22.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn correlation_survives_a_bright_background() {
        let a = image(&(0..1000).map(|n| 1e6 + (n % 7) as f32).collect::<Vec<_>>());
        let b = image(&(0..1000).map(|n| 3e6 - 2.0 * (n % 7) as f32).collect::<Vec<_>>());
        let found = Comparison::between(&a, &b, None).unwrap();
        assert!((found.correlation + 1.0).abs() < 1e-12, "{}", found.correlation);
    }

    #[test]
    fn large_images_are_compared_in_pieces() {
        let count = 3 * PIECE + 5;
        let a = image(&(0..count).map(|n| (n % 4) as f32).collect::<Vec<_>>());
        let b = image(&(0..count).map(|n| if n == 2 * PIECE { 9.0 } else { (n % 4) as f32 }).collect::<Vec<_>>());
        let found = Comparison::between(&a, &b, None).unwrap();
        assert_eq!((found.voxels, found.largest_absolute), (count as u64, 9.0));
        assert_eq!(found.mean_absolute, 9.0 / count as f64);
    }

    #[test]
    fn only_the_mask_counts() {
        let (a, b) = (image(&[1.0, 2.0, 4.0, 9.0]), image(&[2.0, 2.0, 1.0, 70.0]));
        let found = Comparison::between(&a, &b, Some(&image(&[1.0, 0.6, 1.0, 0.5]))).unwrap();
        assert_eq!((found.voxels, found.largest_absolute), (3, 3.0));
        let none = Comparison::between(&a, &b, Some(&image(&[0.0; 4]))).unwrap();
        assert_eq!(none.voxels, 0);
        assert!(
            [none.root_mean_square, none.mean_absolute, none.largest_absolute, none.correlation]
                .iter()
                .all(|value| value.is_nan())
        );
    }

    #[test]
    fn a_constant_image_correlates_with_nothing() {
        let (flat, ramp) = (image(&[0.1; 3]), image(&[1.0, 2.0, 3.0]));
        for (first, second) in [(&flat, &ramp), (&ramp, &flat), (&flat, &flat)] {
            assert!(Comparison::between(first, second, None).unwrap().correlation.is_nan());
        }
    }

    #[test]
    fn refuses_images_and_masks_on_other_grids() {
        let (a, b) = (image(&[1.0, 2.0]), image(&[1.0, 2.0, 3.0]));
        assert_eq!(Comparison::between(&a, &b, None).unwrap_err().what, "the images");
        assert_eq!(Comparison::between(&a, &a, Some(&b)).unwrap_err().what, "the compared images and the mask");
    }
}
