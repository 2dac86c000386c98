//! Means of images and of warps.
//!
//! Images are always added in the same order. So the result is exactly the same whether images are added one by one or
//! all at once.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{DisplacementField, Grid, Volume};
use rayon::prelude::*;

use super::sums::{Averaging, Sums};

/// Number of voxel values that one parallel task adds up.
pub(super) const PIECE: usize = 1 << 16;

/// The mean of images, voxel by voxel. Each image is divided by its own mean intensity, and the result is multiplied by
/// the mean of those intensities.
#[derive(Debug)]
pub struct ImageMean {
    grid: Grid,
    pieces: Vec<Sums>,
    units: Units,
}

/// Sum of the mean intensities of all added images, and their number.
#[derive(Debug, Default)]
struct Units {
    sum: f64,
    images: usize,
}

impl Units {
    /// Adds the mean intensity of an image, and returns the factor by which the image's values are multiplied. Returns
    /// `None` for an image whose mean intensity is not above 0; such an image is left out.
    fn factor(&mut self, intensity: f64) -> Option<f64> {
        (intensity > 0.0).then(|| {
            self.sum += intensity;
            self.images += 1;
            1.0 / intensity
        })
    }

    /// Adds the mean intensities of images to their sum. Returns for each image its voxel values and the factor by
    /// which they are multiplied. All images must lie on `grid`.
    fn of<'a>(&mut self, grid: &Grid, images: &[(&'a Volume, f64)]) -> Result<Vec<(&'a [f32], f64)>, GridMismatch> {
        let mut all = Vec::new();
        for (image, intensity) in images {
            same_grid("the mean image and an image to be averaged", grid, &image.grid)?;
            all.extend(self.factor(*intensity).map(|factor| (image.voxels.as_slice(), factor)));
        }
        Ok(all)
    }

    /// Mean, over the images that have been added, of their mean intensities.
    fn mean(&self) -> f64 {
        self.sum / self.images.max(1) as f64
    }
}

impl ImageMean {
    /// Makes a mean to which no image has been added yet.
    pub fn new(grid: &Grid, averaging: Averaging) -> ImageMean {
        ImageMean { pieces: pieces(grid.len(), averaging), grid: grid.clone(), units: Units::default() }
    }

    /// Adds images to the mean, one after the other. Each comes with the mean of its positive voxels. An image without
    /// positive voxels is left out.
    pub fn add(&mut self, images: &[(&Volume, f64)]) -> Result<(), GridMismatch> {
        let all = self.units.of(&self.grid, images)?;
        add_all(&mut self.pieces, &all);
        Ok(())
    }

    /// Adds the last images and returns the mean. This takes less time than [`ImageMean::add`] followed by `finish`
    /// without images. The mean of no images is zero everywhere.
    pub fn finish(mut self, last: &[(&Volume, f64)]) -> Result<Volume, GridMismatch> {
        let all = self.units.of(&self.grid, last)?;
        let mut mean = Volume::filled(self.grid, 0.0);
        finish(self.pieces, &all, self.units.mean(), &mut mean.voxels);
        Ok(mean)
    }

    /// The mean of images that are all in memory. Each comes with the mean of its positive voxels.
    pub fn of(grid: &Grid, averaging: Averaging, images: &[(&Volume, f64)]) -> Result<Volume, GridMismatch> {
        let mut units = Units::default();
        let all = units.of(grid, images)?;
        let mut mean = Volume::filled(grid.clone(), 0.0);
        at_once(&all, averaging, units.mean(), &mut mean.voxels);
        Ok(mean)
    }
}

/// The mean of displacement fields (warps).
#[derive(Debug)]
pub struct WarpMean {
    grid: Grid,
    pieces: Vec<Sums>,
}

impl WarpMean {
    /// Makes a mean to which no warp has been added yet.
    pub fn new(grid: &Grid) -> WarpMean {
        WarpMean { pieces: pieces(3 * grid.len(), Averaging::Mean), grid: grid.clone() }
    }

    /// Adds warps to the mean, one after the other.
    pub fn add(&mut self, warps: &[&DisplacementField]) -> Result<(), GridMismatch> {
        add_all(&mut self.pieces, &components(&self.grid, warps)?);
        Ok(())
    }

    /// Adds the last warps and returns the mean. This takes less time than [`WarpMean::add`] followed by `finish`
    /// without warps. The mean of no warps is zero everywhere.
    pub fn finish(self, last: &[&DisplacementField]) -> Result<DisplacementField, GridMismatch> {
        let all = components(&self.grid, last)?;
        let mut mean = DisplacementField::zeros(self.grid);
        finish(self.pieces, &all, 1.0, mean.vectors.as_flattened_mut());
        Ok(mean)
    }

    /// The mean of warps that are all in memory.
    pub fn of(grid: &Grid, warps: &[&DisplacementField]) -> Result<DisplacementField, GridMismatch> {
        let all = components(grid, warps)?;
        let mut mean = DisplacementField::zeros(grid.clone());
        at_once(&all, Averaging::Mean, 1.0, mean.vectors.as_flattened_mut());
        Ok(mean)
    }
}

/// Returns the vector components of warps, and for each warp the factor 1, because warps are added without scaling. All
/// warps must lie on `grid`.
fn components<'a>(grid: &Grid, warps: &[&'a DisplacementField]) -> Result<Vec<(&'a [f32], f64)>, GridMismatch> {
    let of_warp = |warp: &&'a DisplacementField| {
        same_grid("the mean warp and a warp to be averaged", grid, &warp.grid)
            .map(|()| (warp.vectors.as_flattened(), 1.0))
    };
    warps.iter().map(of_warp).collect()
}

/// Makes the running sums for a mean of images of `values` voxels each, divided into chunks of voxels. All sums are 0.
fn pieces(values: usize, averaging: Averaging) -> Vec<Sums> {
    let piece = |n: usize| Sums::new(PIECE.min(values - n * PIECE), averaging);
    (0..values.div_ceil(PIECE)).map(piece).collect()
}

/// Adds all images to the sums from which their mean is computed. Chunks of voxels are processed in parallel.
fn add_all(pieces: &mut [Sums], all: &[(&[f32], f64)]) {
    pieces.par_iter_mut().enumerate().for_each(|(n, sums)| add_piece(sums, n, all));
}

/// Adds the last images to the sums, and writes the means to `mean`.
fn finish(mut pieces: Vec<Sums>, last: &[(&[f32], f64)], unit: f64, mean: &mut [f32]) {
    let of_piece = |(n, (sums, mean)): (usize, (&mut Sums, &mut [f32]))| {
        add_piece(sums, n, last);
        sums.mean(unit, mean);
    };
    pieces.par_iter_mut().zip(mean.par_chunks_mut(PIECE)).enumerate().for_each(of_piece);
    // Freeing the memory of the sums over the images takes some time, so a background task frees this memory.
    rayon::spawn(move || drop(pieces));
}

fn add_piece(sums: &mut Sums, n: usize, all: &[(&[f32], f64)]) {
    for (values, factor) in all {
        let values = &values[n * PIECE..];
        sums.add(&values[..values.len().min(PIECE)], *factor);
    }
}

/// Computes the mean of all images, chunk by chunk. The sums of a chunk stay in the processor's cache.
fn at_once(all: &[(&[f32], f64)], averaging: Averaging, unit: f64, mean: &mut [f32]) {
    let of_piece = |sums: &mut Sums, (n, mean): (usize, &mut [f32])| {
        sums.clear(mean.len());
        add_piece(sums, n, all);
        sums.mean(unit, mean);
    };
    mean.par_chunks_mut(PIECE).enumerate().for_each_init(|| Sums::new(0, averaging), of_piece);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Brightness;

    fn image(voxels: &[f32]) -> Volume {
        Volume { grid: Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    /// The mean of test images, computed in three ways that must agree: images added one by one, the last images added
    /// by `finish`, and all images at once.
    fn both(averaging: Averaging, images: &[Volume]) -> Volume {
        let images: Vec<(&Volume, f64)> = images.iter().map(|image| (image, Brightness::of(image).mean)).collect();
        let grid = &images[0].0.grid;
        let mut mean = ImageMean::new(grid, averaging);
        images.iter().for_each(|image| mean.add(&[*image]).expect("one grid"));
        let mean = mean.finish(&[]).expect("one grid");
        assert_eq!(mean, ImageMean::of(grid, averaging, &images).expect("one grid"));
        for first in 0..=images.len() {
            let (first, last) = images.split_at(first);
            let mut few = ImageMean::new(grid, averaging);
            few.add(first).expect("one grid");
            assert_eq!(mean, few.finish(last).expect("one grid"));
        }
        mean
    }

    #[test]
    fn brightness_does_not_count() {
        let (dark, bright) = (image(&[0.0, 1.0, 3.0, -1.0]), image(&[0.0, 30.0, 10.0, 0.0]));
        // Divided by their means, the images are (0, ½, 3⁄2, −½) and (0, 3⁄2, ½, 0). Their mean is multiplied by the
        // mean intensity, (2 + 20)/2.
        let mean = both(Averaging::Mean, &[dark, bright, image(&[0.0; 4])]);
        assert_eq!(mean.voxels, [0.0, 11.0, 11.0, -2.75]);
    }

    #[test]
    fn a_trimmed_mean_leaves_out_both_ends_of_each_voxel() {
        // Each image of this test has a mean intensity of 4, so all images get the same factor.
        let mean = |images: &[[f32; 3]]| {
            both(Averaging::Trimmed, &images.iter().map(|voxels| image(voxels)).collect::<Vec<_>>()).voxels
        };
        assert_eq!(mean(&[[2.0, 4.0, 6.0], [3.0, 4.0, 5.0], [9.0, 2.0, 1.0], [4.0, 6.0, 2.0]]), [3.5, 4.0, 3.5]);
        assert_eq!(mean(&[[2.0, 4.0, 6.0], [4.0, 6.0, 2.0]]), [3.0, 5.0, 4.0], "both of two count");
        let of_three = mean(&[[2.0, 4.0, 6.0], [9.0, 2.0, 1.0], [4.0, 6.0, 2.0]]);
        assert_eq!(of_three, [4.0, 4.0, 2.0], "the middle one of three counts");
    }

    #[test]
    fn pieces_make_no_difference() {
        let value = |n: usize, of: f32| (0.37 * of * (n % 1013) as f32).sin() + 1.5;
        let images = [1.0, 2.0, 3.0].map(|of| image(&(0..2 * PIECE + 77).map(|n| value(n, of)).collect::<Vec<_>>()));
        let mean = both(Averaging::Mean, &images);
        let means = images.each_ref().map(|image| Brightness::of(image).mean);
        for n in [0, PIECE - 1, PIECE, 2 * PIECE + 76] {
            let share = |of: usize| f64::from(images[of].voxels[n]) / means[of];
            let expected = (share(0) + share(1) + share(2)) / 3.0 * (means[0] + means[1] + means[2]) / 3.0;
            // Tolerance: the computed mean of the images may differ from the expected mean by 1e-6, because it is
            // rounded to single precision once.
            assert!((f64::from(mean.voxels[n]) - expected).abs() < 1e-6, "at {n}");
        }
    }

    #[test]
    fn warps_are_averaged_by_component() {
        let grid = Grid::axis_aligned([2, 1, 1], [1.0; 3]);
        let warps = [1.0, 2.0, -6.0].map(|sign| {
            let vectors = vec![[sign, 0.0, 3.0], [0.0, 2.0 * sign, -sign]];
            DisplacementField { grid: grid.clone(), vectors }
        });
        let mut mean = WarpMean::new(&grid);
        warps.iter().for_each(|warp| mean.add(&[warp]).expect("one grid"));
        let mean = mean.finish(&[]).expect("one grid");
        assert_eq!(mean.vectors, [[-1.0, 0.0, 3.0], [0.0, -2.0, 1.0]]);
        let all = warps.each_ref();
        assert_eq!(mean, WarpMean::of(&grid, &all).expect("one grid"));
        let mut few = WarpMean::new(&grid);
        few.add(&all[..2]).expect("one grid");
        assert_eq!(mean, few.finish(&all[2..]).expect("one grid"));
    }

    #[test]
    fn other_grids_are_refused() {
        let (grid, other) = (image(&[1.0]).grid, image(&[1.0, 2.0]));
        assert!(ImageMean::new(&grid, Averaging::Mean).add(&[(&other, 1.5)]).is_err());
        assert!(ImageMean::new(&grid, Averaging::Mean).finish(&[(&other, 1.5)]).is_err());
        assert!(ImageMean::of(&grid, Averaging::Mean, &[(&other, 1.5)]).is_err());
    }
}
