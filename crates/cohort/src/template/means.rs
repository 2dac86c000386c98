//! Means of images and of warps, one after the other in a fixed order: the same bits however they came about.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{DisplacementField, Grid, Volume};
use rayon::prelude::*;

/// Values that a task adds.
pub(super) const PIECE: usize = 1 << 16;

/// What becomes of the images' values at a voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Averaging {
    /// Their mean.
    Mean,
    /// Their mean without the smallest and the largest, if there are more than two.
    Trimmed,
}

/// The mean of images, each divided by its own mean intensity, in the unit of those means' mean.
#[derive(Debug)]
pub struct ImageMean {
    grid: Grid,
    sum: Vec<f64>,
    /// The smallest and the largest value at each voxel, where they are left out.
    extremes: Option<Vec<[f64; 2]>>,
    intensities: f64,
    images: usize,
}

impl ImageMean {
    /// Of no image yet.
    pub fn new(grid: &Grid, averaging: Averaging) -> ImageMean {
        let none = || vec![[f64::INFINITY, f64::NEG_INFINITY]; grid.len()];
        ImageMean {
            sum: vec![0.0; grid.len()],
            extremes: (averaging == Averaging::Trimmed).then(none),
            grid: grid.clone(),
            intensities: 0.0,
            images: 0,
        }
    }

    /// Adds an image, and gives the mean of its positive voxels. An image without any is left out: 0.
    pub fn add(&mut self, image: &Volume) -> Result<f64, GridMismatch> {
        same_grid("the mean and an image", &self.grid, &image.grid)?;
        let intensity = mean_intensity(image);
        if intensity > 0.0 {
            let factor = 1.0 / intensity;
            self.sum.par_chunks_mut(PIECE).zip(image.voxels.par_chunks(PIECE)).for_each(|(sum, voxels)| {
                sum.iter_mut().zip(voxels).for_each(|(sum, value)| *sum += factor * f64::from(*value));
            });
            if let Some(extremes) = &mut self.extremes {
                let pieces = extremes.par_chunks_mut(PIECE).zip(image.voxels.par_chunks(PIECE));
                pieces.for_each(|(extremes, voxels)| {
                    for ([low, high], value) in extremes.iter_mut().zip(voxels) {
                        let value = factor * f64::from(*value);
                        (*low, *high) = (low.min(value), high.max(value));
                    }
                });
            }
            self.intensities += intensity;
            self.images += 1;
        }
        Ok(intensity)
    }

    /// The mean; zero everywhere without any image.
    pub fn finish(self) -> Volume {
        let count = self.images.max(1) as f64;
        let intensity = self.intensities / count;
        let voxels = match &self.extremes {
            Some(extremes) if self.images > 2 => {
                let factor = intensity / (count - 2.0);
                let rest = |(sum, [low, high]): (&f64, &[f64; 2])| (factor * (sum - low - high)) as f32;
                self.sum.par_iter().zip(extremes).map(rest).collect()
            }
            _ => self.sum.par_iter().map(|sum| (intensity / count * sum) as f32).collect(),
        };
        Volume { grid: self.grid, voxels }
    }
}

/// Mean of the voxels above zero, 0 if there are none: the unit in which images of several scanners agree.
pub fn mean_intensity(image: &Volume) -> f64 {
    // Summed a piece at a time and the pieces in order, whatever the number of threads.
    let pieces: Vec<(f64, usize)> = image
        .voxels
        .par_chunks(PIECE)
        .map(|piece| {
            let positive = piece.iter().filter(|value| **value > 0.0 && value.is_finite());
            positive.fold((0.0, 0), |(sum, count), value| (sum + f64::from(*value), count + 1))
        })
        .collect();
    let (sum, count) = pieces.iter().fold((0.0, 0), |(sum, count), piece| (sum + piece.0, count + piece.1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The mean of displacement fields.
#[derive(Debug)]
pub struct WarpMean {
    grid: Grid,
    sum: Vec<[f64; 3]>,
    warps: usize,
}

impl WarpMean {
    /// Of no warp yet.
    pub fn new(grid: &Grid) -> WarpMean {
        WarpMean { sum: vec![[0.0; 3]; grid.len()], grid: grid.clone(), warps: 0 }
    }

    /// Adds a warp.
    pub fn add(&mut self, warp: &DisplacementField) -> Result<(), GridMismatch> {
        same_grid("the mean and a warp", &self.grid, &warp.grid)?;
        self.sum.par_chunks_mut(PIECE).zip(warp.vectors.par_chunks(PIECE)).for_each(|(sum, vectors)| {
            for (sum, vector) in sum.iter_mut().zip(vectors) {
                (0..3).for_each(|axis| sum[axis] += f64::from(vector[axis]));
            }
        });
        self.warps += 1;
        Ok(())
    }

    /// The mean; zero everywhere without any warp.
    pub fn finish(self) -> DisplacementField {
        let factor = 1.0 / self.warps.max(1) as f64;
        let vectors = self.sum.par_iter().map(|sum| sum.map(|component| (factor * component) as f32)).collect();
        DisplacementField { grid: self.grid, vectors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(voxels: &[f32]) -> Volume {
        Volume { grid: Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    #[test]
    fn brightness_does_not_count() {
        let dark = image(&[0.0, 1.0, 3.0, -1.0]);
        let bright = image(&[0.0, 30.0, 10.0, 0.0]);
        let mut mean = ImageMean::new(&dark.grid, Averaging::Mean);
        assert_eq!(mean.add(&dark).expect("one grid"), 2.0);
        assert_eq!(mean.add(&bright).expect("one grid"), 20.0);
        assert_eq!(mean.add(&image(&[0.0; 4])).expect("one grid"), 0.0);
        // (0, ½, 3⁄2, −½) and (0, 3⁄2, ½, 0), in units of (2 + 20)/2.
        assert_eq!(mean.finish().voxels, [0.0, 11.0, 11.0, -2.75]);
    }

    #[test]
    fn a_trimmed_mean_leaves_out_both_ends_of_each_voxel() {
        let grid = image(&[0.0; 3]).grid;
        let add = |images: &[[f32; 3]]| {
            let mut mean = ImageMean::new(&grid, Averaging::Trimmed);
            images.iter().for_each(|voxels| assert_eq!(mean.add(&image(voxels)).expect("one grid"), 4.0));
            mean.finish().voxels
        };
        // Each has the mean 4.
        assert_eq!(add(&[[2.0, 4.0, 6.0], [3.0, 4.0, 5.0], [9.0, 2.0, 1.0], [4.0, 6.0, 2.0]]), [3.5, 4.0, 3.5]);
        assert_eq!(add(&[[2.0, 4.0, 6.0], [4.0, 6.0, 2.0]]), [3.0, 5.0, 4.0], "both of two count");
    }

    #[test]
    fn warps_are_averaged_by_component() {
        let grid = Grid::axis_aligned([2, 1, 1], [1.0; 3]);
        let mut mean = WarpMean::new(&grid);
        for sign in [1.0, 2.0, -6.0] {
            let vectors = vec![[sign, 0.0, 3.0], [0.0, 2.0 * sign, -sign]];
            mean.add(&DisplacementField { grid: grid.clone(), vectors }).expect("one grid");
        }
        assert_eq!(mean.finish().vectors, [[-1.0, 0.0, 3.0], [0.0, -2.0, 1.0]]);
    }

    #[test]
    fn other_grids_are_refused() {
        let mut mean = ImageMean::new(&image(&[1.0]).grid, Averaging::Mean);
        assert!(mean.add(&image(&[1.0, 2.0])).is_err());
    }
}
