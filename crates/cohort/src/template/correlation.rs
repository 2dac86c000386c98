//! Pearson's correlation of two images inside a mask.

use antsreg_core::Volume;
use antsreg_core::same_grid::{GridMismatch, same_grid};
use rayon::prelude::*;

use super::means::PIECE;

/// Pearson's correlation of two images where `mask` exceeds ½; `None` if one of the images is constant there.
pub fn correlation(first: &Volume, second: &Volume, mask: &Volume) -> Result<Option<f64>, GridMismatch> {
    same_grid("the images", &first.grid, &second.grid)?;
    same_grid("the images and the mask", &first.grid, &mask.grid)?;
    // The voxels are summed in chunks in parallel, and the chunks are added in order. So the sums do not depend on the
    // number of threads.
    let sums = |means: [f64; 2]| -> [f64; 6] {
        let of_piece = |((first, second), mask): ((&[f32], &[f32]), &[f32])| {
            let pairs = first.iter().zip(second).zip(mask).filter(|(_, mask)| **mask > 0.5);
            pairs.fold([0.0; 6], |sums, ((a, b), _)| {
                let (a, b) = (f64::from(*a) - means[0], f64::from(*b) - means[1]);
                added(sums, [1.0, a, b, a * a, b * b, a * b])
            })
        };
        let pieces = first.voxels.par_chunks(PIECE).zip(second.voxels.par_chunks(PIECE));
        let pieces: Vec<[f64; 6]> = pieces.zip(mask.voxels.par_chunks(PIECE)).map(of_piece).collect();
        pieces.into_iter().fold([0.0; 6], added)
    };
    let [count, a, b, ..] = sums([0.0; 2]);
    // Sums of deviations from the means. Variances computed from sums of squares would lose digits on bright images.
    let [_, _, _, aa, bb, ab] = sums([a / count, b / count]);
    Ok((aa > 0.0 && bb > 0.0).then(|| ab / (aa.sqrt() * bb.sqrt())))
}

fn added(first: [f64; 6], second: [f64; 6]) -> [f64; 6] {
    std::array::from_fn(|n| first[n] + second[n])
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;
    use antsreg_core::compare::Comparison;

    use super::*;

    #[test]
    fn it_is_the_correlation_of_compare() {
        let grid = Grid::axis_aligned([61, 43, 37], [1.0; 3]);
        let image = |seed: u64| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32
            };
            Volume { voxels: (0..grid.len()).map(|_| next()).collect(), grid: grid.clone() }
        };
        let (a, noise) = (image(1), image(2));
        let voxels = a.voxels.iter().zip(&noise.voxels).map(|(a, noise)| 3.0 * a + noise).collect();
        let b = Volume { voxels, grid: grid.clone() };
        let voxels = noise.voxels.iter().map(|value| if *value > 5e6 { 1.0 } else { 0.5 }).collect();
        let mask = Volume { voxels, grid: grid.clone() };
        let expected = Comparison::between(&a, &b, Some(&mask)).expect("one grid").correlation;
        let found = correlation(&a, &b, &mask).expect("one grid").expect("contrast");
        // The correlation of two images is computed by `correlation` and, for the test, by `Comparison`. The results
        // may differ by 1e-12: both functions add 97 000 products with rounding, but in different orders.
        assert!((found - expected).abs() < 1e-12 && found > 0.5, "{found} {expected}");
        let flat = Volume::filled(grid, 2.0);
        assert_eq!(correlation(&a, &flat, &mask).expect("one grid"), None);
        assert_eq!(correlation(&flat, &a, &mask).expect("one grid"), None);
    }

    #[test]
    fn only_voxels_where_the_mask_exceeds_a_half_count() {
        let image =
            |voxels: [f32; 4]| Volume { grid: Grid::axis_aligned([4, 1, 1], [1.0; 3]), voxels: voxels.to_vec() };
        let (a, b) = (image([1.0, 2.0, 3.0, 50.0]), image([-2.0, -4.0, -6.0, 80.0]));
        let found = correlation(&a, &b, &image([1.0, 0.51, 1.0, 0.5])).expect("one grid").expect("contrast");
        assert!((found + 1.0).abs() < 1e-12, "{found}");
    }
}
