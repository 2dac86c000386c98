//! Means of images and of warps, one after the other in a fixed order: the same bits however they came about.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{DisplacementField, Grid, Volume};
use rayon::prelude::*;

/// Values that a task adds.
const PIECE: usize = 1 << 16;

/// The mean of images, each divided by its own mean intensity, in the unit of those means' mean.
#[derive(Debug)]
pub struct ImageMean {
    grid: Grid,
    sum: Vec<f64>,
    intensities: f64,
    images: usize,
}

impl ImageMean {
    /// Of no image yet.
    pub fn new(grid: &Grid) -> ImageMean {
        ImageMean { sum: vec![0.0; grid.len()], grid: grid.clone(), intensities: 0.0, images: 0 }
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
            self.intensities += intensity;
            self.images += 1;
        }
        Ok(intensity)
    }

    /// The mean; zero everywhere without any image.
    pub fn finish(self) -> Volume {
        let count = self.images.max(1) as f64;
        let factor = self.intensities / count / count;
        let voxels = self.sum.par_iter().map(|sum| (factor * sum) as f32).collect();
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
        let mut mean = ImageMean::new(&dark.grid);
        assert_eq!(mean.add(&dark).expect("one grid"), 2.0);
        assert_eq!(mean.add(&bright).expect("one grid"), 20.0);
        assert_eq!(mean.add(&image(&[0.0; 4])).expect("one grid"), 0.0);
        // (0, ½, 3⁄2, −½) and (0, 3⁄2, ½, 0), in units of (2 + 20)/2.
        assert_eq!(mean.finish().voxels, [0.0, 11.0, 11.0, -2.75]);
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
        let mut mean = ImageMean::new(&image(&[1.0]).grid);
        assert!(mean.add(&image(&[1.0, 2.0])).is_err());
    }
}
