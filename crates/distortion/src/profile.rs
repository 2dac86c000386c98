//! Integrals of the intensity along lines of the phase encoding.

use rayon::prelude::*;

use crate::lines::Lines;

/// The integral of an image's intensity along each line, from the line's start, at the faces of the voxels. Between
/// faces it is a cubic polynomial with the given slopes; beyond the ends it is constant.
pub(crate) struct Profile {
    faces: usize,
    /// Integrals, intensity times voxels.
    integrals: Vec<f64>,
    /// Slopes at the faces: the interpolated intensities.
    slopes: Vec<f64>,
}

impl Profile {
    /// Integrates an image that is ordered as lines. The slope at a face is interpolated from four voxels, so that
    /// cubic integrals are reproduced (weights −1, 7, 7, −1, divided by 12).
    pub fn new(lines: &Lines, image: &[f64]) -> Profile {
        let faces = lines.faces();
        let mut profile =
            Profile { faces, integrals: vec![0.0; faces * lines.count()], slopes: vec![0.0; faces * lines.count()] };
        let both = profile.integrals.par_chunks_mut(faces).zip(profile.slopes.par_chunks_mut(faces));
        both.zip(image.par_chunks(lines.cells)).for_each(|((integrals, slopes), image)| {
            let voxel = |n: isize| usize::try_from(n).ok().and_then(|n| image.get(n)).copied().unwrap_or(0.0);
            let mut sum = 0.0;
            for face in 0..faces {
                integrals[face] = sum;
                sum += image.get(face).copied().unwrap_or(0.0);
                let n = face as isize;
                slopes[face] = (7.0 * (voxel(n - 1) + voxel(n)) - voxel(n - 2) - voxel(n + 1)) / 12.0;
            }
        });
        profile
    }

    /// The integral of a line up to a position, in faces from the line's start, and its derivative by the position.
    pub fn at(&self, line: usize, position: f64) -> [f64; 2] {
        let (start, last) = (line * self.faces, self.faces - 1);
        if position <= 0.0 {
            return [self.integrals[start], 0.0];
        }
        if position >= last as f64 {
            return [self.integrals[start + last], 0.0];
        }
        let face = (position as usize).min(last - 1);
        let (t, near) = (position - face as f64, start + face);
        let (rise, left, right) =
            (self.integrals[near + 1] - self.integrals[near], self.slopes[near], self.slopes[near + 1]);
        let back = 1.0 - t;
        let value =
            self.integrals[near] + rise * t * t * (3.0 - 2.0 * t) + left * t * back * back - right * t * t * back;
        let slope = 6.0 * rise * t * back + left * back * (1.0 - 3.0 * t) + right * t * (3.0 * t - 2.0);
        [value, slope]
    }

    /// The image with its distortion removed: the signal between the displaced faces of each voxel. `displaced` says,
    /// for a face, where its signal was found, in voxels from the face.
    pub fn corrected(&self, lines: &Lines, displaced: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let mut out = vec![0.0; lines.cells * lines.count()];
        out.par_chunks_mut(lines.cells).enumerate().for_each(|(line, out)| {
            let up_to = |face: usize| self.at(line, face as f64 + displaced(line * self.faces + face))[0];
            let mut before = up_to(0);
            for (cell, out) in out.iter_mut().enumerate() {
                let after = up_to(cell + 1);
                *out = after - before;
                before = after;
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    fn profile(image: &[f64]) -> (Lines, Profile) {
        let lines = Lines::of(&Grid::axis_aligned([image.len(), 1, 1], [1.0; 3]), 0);
        let profile = Profile::new(&lines, image);
        (lines, profile)
    }

    #[test]
    fn a_quadratic_intensity_is_integrated_exactly() {
        // The mean over voxel n of x² is n² + 1/12, with the voxel's centre at n.
        let image: Vec<f64> = (0..12).map(|n| (n * n) as f64 + 1.0 / 12.0).collect();
        let (_, profile) = profile(&image);
        for position in [3.0, 4.25, 5.5, 7.9] {
            let x: f64 = position - 0.5;
            let [value, slope] = profile.at(0, position);
            assert!((value - (x.powi(3) + 0.125) / 3.0).abs() < 1e-9, "{position}: {value}");
            assert!((slope - x * x).abs() < 1e-9, "{position}: {slope}");
        }
    }

    #[test]
    fn a_displacement_moves_signal_without_loss() {
        let image: Vec<f64> = (0..20).map(|n| if (8..12).contains(&n) { 1.0 + n as f64 } else { 0.0 }).collect();
        let (lines, profile) = profile(&image);
        let moved = profile.corrected(&lines, |_| 2.0);
        assert_eq!(moved[6..10], image[8..12]);
        let stretched = profile.corrected(&lines, |face| 0.3 * (face as f64 - 10.0));
        assert!((stretched.iter().sum::<f64>() - image.iter().sum::<f64>()).abs() < 1e-9);
    }
}
