//! Counts, at each voxel of a template, how many subjects have foreground (head or brain) there.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{Grid, Volume};
use rayon::prelude::*;

use super::means::PIECE;

/// Number of subjects that have foreground (head or brain) at each voxel.
#[derive(Debug)]
pub struct Coverage {
    grid: Grid,
    counts: Vec<u32>,
    images: usize,
}

impl Coverage {
    /// Makes a count of subjects at each voxel, to which no subject has been added yet.
    pub fn new(grid: &Grid) -> Coverage {
        Coverage { counts: vec![0; grid.len()], grid: grid.clone(), images: 0 }
    }

    /// Adds images of further subjects, each with its foreground threshold, to the numbers of subjects that have
    /// foreground at each voxel.
    pub fn add(&mut self, images: &[(&Volume, f32)]) -> Result<(), GridMismatch> {
        check(&self.grid, images)?;
        self.counts.par_chunks_mut(PIECE).enumerate().for_each(|(n, counts)| count_all(counts, n, images));
        self.images += images.len();
        Ok(())
    }

    /// Adds the images of the last subjects and returns a mask: 1 where at least half of all subjects have foreground,
    /// else 0.
    ///
    /// The mask shows the brain of the average image. It does not depend on how blurred the edge of the average image
    /// is. This function takes less time than [`Coverage::add`] followed by a threshold.
    pub fn half(mut self, last: &[(&Volume, f32)]) -> Result<Volume, GridMismatch> {
        check(&self.grid, last)?;
        let all = self.images + last.len();
        let mut half = Volume::filled(self.grid, 0.0);
        let pieces = half.voxels.par_chunks_mut(PIECE).zip(self.counts.par_chunks_mut(PIECE)).enumerate();
        pieces.for_each(|(n, (half, counts))| {
            count_all(counts, n, last);
            reach(half, counts, all);
        });
        Ok(half)
    }

    /// The mask of [`Coverage::half`] for images that are all in memory, each with its foreground threshold.
    pub fn half_of(grid: &Grid, images: &[(&Volume, f32)]) -> Result<Volume, GridMismatch> {
        check(grid, images)?;
        let mut half = Volume::filled(grid.clone(), 0.0);
        half.voxels.par_chunks_mut(PIECE).enumerate().for_each(|(n, half)| {
            let mut counts = vec![0; half.len()];
            count_all(&mut counts, n, images);
            reach(half, &counts, images.len());
        });
        Ok(half)
    }
}

fn check(grid: &Grid, images: &[(&Volume, f32)]) -> Result<(), GridMismatch> {
    images
        .iter()
        .try_for_each(|(image, _)| same_grid("the count of subjects and a subject's image", grid, &image.grid))
}

/// Adds to `counts`, for each voxel in chunk `n` of the image, the number of images that are brighter there than their
/// foreground threshold.
fn count_all(counts: &mut [u32], n: usize, images: &[(&Volume, f32)]) {
    for (image, foreground) in images {
        count(counts, &image.voxels[n * PIECE..], *foreground);
    }
}

fn count(counts: &mut [u32], voxels: &[f32], foreground: f32) {
    counts.iter_mut().zip(voxels).for_each(|(count, value)| *count += u32::from(*value > foreground));
}

/// Sets the mask `half` to 1 at voxels where at least half of the subjects have foreground, else to 0. `counts` are the
/// numbers of subjects with foreground at the voxels, and `all` is the number of all subjects.
fn reach(half: &mut [f32], counts: &[u32], all: usize) {
    let least = all.div_ceil(2).max(1) as u32;
    half.iter_mut().zip(counts).for_each(|(half, count)| *half = if *count >= least { 1.0 } else { 0.0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_enough() {
        let grid = Grid::axis_aligned([5, 1, 1], [1.0; 3]);
        let image = |voxels: [f32; 5]| Volume { grid: grid.clone(), voxels: voxels.to_vec() };
        let images = [[0.5, 9.0, 9.0, 0.0, 0.0], [0.5, 1.0, 0.0, 1.0, 0.0], [0.0, 50.0, 40.0, 0.0, 0.0]].map(image);
        let fourth = image([0.0, 0.0, 0.0, 1.0, 0.0]);
        let at_once = |images: &[&Volume]| {
            let images: Vec<(&Volume, f32)> = images.iter().map(|image| (*image, 0.5)).collect();
            Coverage::half_of(&grid, &images).expect("one grid").voxels
        };
        // The first images are added to the count of subjects one by one, the remaining images together with the
        // computation of the mask.
        let in_parts = |images: &[&Volume], first: usize| {
            let images: Vec<(&Volume, f32)> = images.iter().map(|image| (*image, 0.5)).collect();
            let mut coverage = Coverage::new(&grid);
            images[..first].iter().for_each(|image| coverage.add(&[*image]).expect("one grid"));
            coverage.half(&images[first..]).expect("one grid").voxels
        };
        let [first, second, third] = images.each_ref();
        for (images, expected) in [
            (vec![], [0.0; 5]),
            (vec![first, second, third], [0.0, 1.0, 1.0, 0.0, 0.0]),
            (vec![first, second, third, &fourth], [0.0, 1.0, 1.0, 1.0, 0.0]),
        ] {
            assert_eq!(at_once(&images), expected, "of {}", images.len());
            for parts in 0..=images.len() {
                assert_eq!(in_parts(&images, parts), expected, "{parts} of {} first", images.len());
            }
        }
        let elsewhere = Volume::filled(Grid::axis_aligned([4, 1, 1], [1.0; 3]), 1.0);
        assert!(Coverage::new(&grid).add(&[(&elsewhere, 0.5)]).is_err());
        assert!(Coverage::new(&grid).half(&[(&elsewhere, 0.5)]).is_err());
        assert!(Coverage::half_of(&grid, &[(&elsewhere, 0.5)]).is_err());
    }

    #[test]
    fn pieces_make_no_difference() {
        let grid = Grid::axis_aligned([2 * PIECE + 77, 1, 1], [1.0; 3]);
        // The length of a piece is no multiple of 3, so all pieces differ.
        let voxels: Vec<f32> = (0..grid.len()).map(|n| if n % 3 == 0 { 1.0 } else { 0.0 }).collect();
        let image = Volume { grid: grid.clone(), voxels };
        assert_eq!(Coverage::half_of(&grid, &[(&image, 0.5)]), Ok(image.clone()));
        assert_eq!(Coverage::new(&grid).half(&[(&image, 0.5)]), Ok(image.clone()));
        let mut coverage = Coverage::new(&grid);
        coverage.add(&[(&image, 0.5)]).expect("one grid");
        assert_eq!(coverage.half(&[]), Ok(image));
    }
}
