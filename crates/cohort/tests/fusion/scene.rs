//! Synthetic target images and atlases for the tests of label fusion.

use antsreg_cohort::fusion::Atlas;
use antsreg_core::{Grid, LabelVolume, Volume};

/// Pseudo-random numbers from 0 to 1; equal seeds give equal sequences.
pub struct Noise(pub u64);

impl Noise {
    /// The next pseudo-random number, 0 to 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A synthetic target image with its atlases.
pub struct Scene {
    pub target: Volume,
    pub images: Vec<Volume>,
    pub labels: Vec<LabelVolume>,
}

impl Scene {
    /// A target image with four regions between curved borders. Each atlas has the same regions, displaced, with its
    /// own noise and its own wrong labels.
    pub fn new(shape: [usize; 3], atlases: usize, seed: u64) -> Scene {
        let mut grid = Grid::axis_aligned(shape, [1.0, 1.5, 0.8]);
        grid.origin = [-20.0, 4.0, 11.0].into();
        let mut noise = Noise(seed);
        let mut make = |push: [f64; 3]| {
            let place = |n: usize| {
                let at = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
                [0, 1, 2].map(|axis| at[axis] as f64 + push[axis])
            };
            let wave = |[x, y, z]: [f64; 3]| ((x / 2.3).sin() + (y / 3.1).cos() + (z / 2.7).sin(), x + y - z);
            let voxels = (0..grid.len()).map(|n| {
                let (height, along) = wave(place(n));
                (300.0 * height + 20.0 * along + 150.0 * noise.next()) as f32
            });
            let image = Volume { voxels: voxels.collect(), grid: grid.clone() };
            let mut label = |n: usize| {
                let (height, along) = wave(place(n));
                let wrong = usize::from(noise.next() > 0.9);
                // The labels include the background 0 and a large number, which must be treated like any other label.
                [0, 3, 41, 2001][(usize::from(height > 0.3) + 2 * usize::from(along > 7.0) + wrong) % 4]
            };
            (image, LabelVolume { voxels: (0..grid.len()).map(&mut label).collect(), grid: grid.clone() })
        };
        let target = make([0.0; 3]).0;
        let pushes = [[0.9, -0.4, 0.3], [-1.2, 0.8, 0.5], [0.2, 1.6, -1.1], [-0.6, -0.7, 1.9], [1.1, 1.2, -0.2]];
        let (images, labels) = pushes.into_iter().cycle().take(atlases).map(&mut make).unzip();
        Scene { target, images, labels }
    }

    /// Makes the target image constant over a third of its first axis, and the first atlas constant over half of its
    /// second axis.
    pub fn flatten(&mut self) {
        let [nx, ny, _] = self.target.grid.shape;
        for (n, value) in self.target.voxels.iter_mut().enumerate().filter(|(n, _)| n % nx < nx / 3) {
            *value = 410.0 + (n % 2) as f32 * 1e-3;
        }
        for (_, value) in self.images[0].voxels.iter_mut().enumerate().filter(|(n, _)| n / nx % ny < ny / 2) {
            *value = 120.0;
        }
    }

    /// The atlases of the scene, in the form that label fusion takes.
    pub fn atlases(&self) -> Vec<Atlas<'_>> {
        self.images.iter().zip(&self.labels).map(|(image, labels)| Atlas { image, labels }).collect()
    }

    /// The label maps of all atlases.
    pub fn maps(&self) -> Vec<&LabelVolume> {
        self.labels.iter().collect()
    }
}
