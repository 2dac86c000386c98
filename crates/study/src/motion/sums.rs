//! Mean, variance and standard deviation over the volumes of a series.

use antsreg_core::{Grid, Volume};
use rayon::prelude::*;

/// Number of voxels whose values one thread sums at a time.
const PIECE: usize = 1 << 14;

/// Sum of the intensities over the volumes of a series, for each voxel. If the variance is requested, also the sum of
/// the squared deviations from the mean.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    count: usize,
    sum: Vec<f64>,
    /// For each voxel, the sum of the squared differences between its intensities and their mean (Welford 1962); empty
    /// if no variance is requested.
    squares: Vec<f64>,
}

impl Sums {
    /// Creates empty sums over the volumes of a series, each of `voxels` voxels. `squares` says whether the variance is
    /// requested.
    pub fn new(voxels: usize, squares: bool) -> Sums {
        Sums { count: 0, sum: vec![0.0; voxels], squares: vec![0.0; if squares { voxels } else { 0 }] }
    }

    /// Adds the intensities of a volume to the sums over the volumes of a series.
    pub fn add(&mut self, voxels: &[f32]) {
        let before = self.count as f64;
        self.count += 1;
        if before > 0.0 {
            let squares = self.squares.par_iter_mut().with_min_len(PIECE);
            squares.zip(&self.sum).zip(voxels).for_each(|((square, sum), value)| {
                *square += (f64::from(*value) - sum / before).powi(2) * before / (before + 1.0);
            });
        }
        let sums = self.sum.par_iter_mut().with_min_len(PIECE);
        sums.zip(voxels).for_each(|(sum, value)| *sum += f64::from(*value));
    }

    /// Mean over the volumes, on the grid of the reference.
    pub fn mean(&self, grid: &Grid) -> Volume {
        let count = self.count.max(1) as f64;
        Volume { grid: grid.clone(), voxels: self.sum.iter().map(|sum| (sum / count) as f32).collect() }
    }

    /// Variance over the volumes, with the number of volumes less one as divisor.
    pub fn variance(&self, grid: &Grid) -> Volume {
        let over = (self.count.max(2) - 1) as f64;
        Volume { grid: grid.clone(), voxels: self.squares.iter().map(|square| (square / over) as f32).collect() }
    }

    /// Standard deviation over the volumes: the root of the variance.
    pub fn deviation(&self, grid: &Grid) -> Volume {
        let mut volume = self.variance(grid);
        volume.voxels.iter_mut().for_each(|value| *value = value.sqrt());
        volume
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_is_that_of_all_values() {
        let grid = Grid::axis_aligned([2, 1, 1], [1.0; 3]);
        let mut sums = Sums::new(2, true);
        for value in [1.0, 2.0, 4.0, 9.0] {
            sums.add(&[value, 1e4 + value]);
        }
        assert_eq!(sums.mean(&grid).voxels, [4.0, 10004.0]);
        // Squared differences between the four values of a voxel and their mean: 9, 4, 0 and 25.
        let [a, b] = [0, 1].map(|n| sums.variance(&grid).voxels[n]);
        assert!((a - 38.0 / 3.0).abs() < 1e-5 && (b - 38.0 / 3.0).abs() < 1e-4, "{a}, {b}");
        assert!((sums.deviation(&grid).voxels[0] - (38.0f32 / 3.0).sqrt()).abs() < 1e-5);
    }
}
