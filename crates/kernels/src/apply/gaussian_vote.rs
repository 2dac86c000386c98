//! Interpolation of labels by their mass under a Gaussian.

use super::gaussian_kernel::GaussianWeights;
use super::sample::Sample;

/// Interpolates a label map: takes the label with the largest mass under a Gaussian, over all voxels within the cutoff;
/// ITK's `LabelImageGaussianInterpolateImageFunction`, ANTs' MultiLabel. Of labels with equal mass, the first in memory
/// order is taken.
pub struct GaussianVote<'a> {
    pub weights: GaussianWeights,
    pub voxels: &'a [f32],
}

impl Sample for GaussianVote<'_> {
    type Value = f32;

    fn at(&self, index: [f64; 3]) -> f32 {
        let [nx, ny, _] = self.weights.shape;
        let mut votes: Vec<(f32, f64)> = Vec::new();
        self.weights.walk(2, index[2], |k, wz| {
            self.weights.walk(1, index[1], |j, wy| {
                let row = &self.voxels[(k * ny + j) * nx..][..nx];
                self.weights.walk(0, index[0], |i, wx| {
                    let mass = wx * wy * wz;
                    match votes.iter_mut().find(|(label, _)| *label == row[i]) {
                        Some((_, votes)) => *votes += mass,
                        None => votes.push((row[i], mass)),
                    }
                });
            });
        });
        // If several labels have the same mass, the first label in memory order is taken.
        let most = votes.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        most.map_or(0.0, |(label, _)| label)
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, TransformChain, Volume};

    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    /// Mass of the test's Gaussian over voxel `j` of an axis, by the midpoint rule; 0 beyond the cutoff.
    fn mass(j: usize, index: f64, sigma_voxels: f64, alpha: f64) -> f64 {
        if (j as f64 - index).abs() >= 0.5 + alpha * sigma_voxels {
            return 0.0;
        }
        let density = |x: f64| (-0.5 * ((x - index) / sigma_voxels).powi(2)).exp();
        (0..500).map(|n| density(j as f64 - 0.5 + (n as f64 + 0.5) / 500.0)).sum()
    }

    #[test]
    fn is_the_label_with_the_most_mass() {
        let shape = [9, 7, 5];
        let mut moving = noise_volume(oblique_grid(shape, 1), 7);
        moving.voxels.iter_mut().for_each(|value| *value = (*value / 250.0).floor());
        let onto = oblique_grid([7, 5, 9], 2);
        let chain = &chains(&onto)[1];
        let (sigma_mm, alpha) = ([1.3, 0.8, 2.1], 2.0);
        let moved = resample(&moving, &onto, chain, Interpolation::MultiLabel { sigma_mm, alpha }, -5.0);
        let mut seen = 0;
        for (index, found) in slow_indices(&onto, chain, &moving.grid).into_iter().zip(&moved.voxels) {
            let Some(index) = index else {
                assert_eq!(*found, -5.0);
                continue;
            };
            let weight = |n: usize| -> f64 {
                let at = [n % 9, n / 9 % 7, n / 63];
                (0..3).map(|a| mass(at[a], index[a], sigma_mm[a] / moving.grid.spacing[a], alpha)).product()
            };
            let mut votes = [0.0; 4];
            moving.voxels.iter().enumerate().for_each(|(n, label)| votes[*label as usize] += weight(n));
            let most = votes.iter().copied().fold(0.0, f64::max);
            // The tolerance is relative to the largest mass, the sum of a label's Gaussian weights. The tested function
            // takes its masses from a table of the error function with an error of 3e-7.
            assert!(votes[*found as usize] > most * (1.0 - 1e-5), "{votes:?}, found {found}");
            seen += 1;
        }
        assert!(seen > 50);
    }

    #[test]
    fn of_labels_with_equal_mass_the_first_in_memory_is_taken() {
        let mut onto = Grid::axis_aligned([1, 1, 1], [1.0; 3]);
        onto.origin.x = 0.5;
        for voxels in [[7.0, 3.0], [3.0, 7.0]] {
            let moving = Volume { grid: Grid::axis_aligned([2, 1, 1], [1.0; 3]), voxels: voxels.to_vec() };
            // With this standard deviation the outer edges of both voxels are at ∓0.5 on the axis of the error function.
            // These are entries of its table, so both masses have the same bits.
            let how = Interpolation::MultiLabel { sigma_mm: [std::f64::consts::SQRT_2; 3], alpha: 2.0 };
            assert_eq!(resample(&moving, &onto, &TransformChain::new(), how, -5.0).voxels, [voxels[0]]);
        }
    }
}
