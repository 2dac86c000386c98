//! The images of both directions of the phase encoding on one level, and their difference after correction.

use rayon::prelude::*;

use crate::lines::{Lines, sum_over};
use crate::profile::Profile;
use crate::system::System;

/// The mean images of both directions of the phase encoding.
pub(crate) struct Pair<'a> {
    pub lines: &'a Lines,
    /// Profiles of the mean image of each direction.
    pub profiles: [Profile; 2],
    /// Displacement of the signal in the images of each direction, relative to the estimated displacement: the sign of
    /// the encoding, times the ratio of readout times.
    pub scales: [f64; 2],
}

/// The difference of the corrected images for one displacement.
pub(crate) struct Difference {
    /// The energy that is minimised: half the sum of the squared differences and of the weighted squared gradients.
    pub energy: f64,
    /// Difference of the corrected images at each voxel.
    pub residual: Vec<f64>,
    /// At each face: the change of the difference of the integrals by the displacement there, per mm.
    pub weights: Vec<f64>,
}

impl Pair<'_> {
    /// Compares the corrected images for a displacement at the faces, mm.
    pub fn compare(&self, displacement: &[f64], smoothness: f64) -> Difference {
        let lines = self.lines;
        let (cells, faces, size) = (lines.cells, lines.faces(), lines.size_mm[0]);
        let mut residual = vec![0.0; cells * lines.count()];
        let mut weights = vec![0.0; faces * lines.count()];
        let both = residual.par_chunks_mut(cells).zip(weights.par_chunks_mut(faces)).enumerate();
        both.for_each(|(line, (residual, weights))| {
            let mut before = 0.0;
            for (face, weight) in weights.iter_mut().enumerate() {
                let voxels = displacement[line * faces + face] / size;
                let one = |n: usize| self.profiles[n].at(line, face as f64 + self.scales[n] * voxels);
                let ([first, first_slope], [second, second_slope]) = (one(0), one(1));
                *weight = (self.scales[0] * first_slope - self.scales[1] * second_slope) / size;
                let difference = first - second;
                if face > 0 {
                    residual[face - 1] = difference - before;
                }
                before = difference;
            }
        });
        let squares = sum_over(lines.count(), |line| {
            residual[line * cells..][..cells].iter().map(|value| value * value).sum::<f64>()
        });
        let energy = 0.5 * squares + smoothness * System::roughness(lines, displacement);
        Difference { energy, residual, weights }
    }

    /// The image of a direction (0 or 1), corrected for a displacement at the faces, mm.
    pub fn corrected(&self, direction: usize, displacement: &[f64]) -> Vec<f64> {
        let factor = self.scales[direction] / self.lines.size_mm[0];
        self.profiles[direction].corrected(self.lines, |face| factor * displacement[face])
    }
}
