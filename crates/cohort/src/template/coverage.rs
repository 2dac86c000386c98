//! Where a template's subjects have brain.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{Grid, Volume};
use rayon::prelude::*;

use super::foreground;

/// Counts the subjects that have foreground at each voxel.
#[derive(Debug)]
pub struct Coverage {
    grid: Grid,
    counts: Vec<u32>,
    images: u32,
}

impl Coverage {
    /// Of no subject yet.
    pub fn new(grid: &Grid) -> Coverage {
        Coverage { counts: vec![0; grid.len()], grid: grid.clone(), images: 0 }
    }

    /// Adds a subject's image.
    pub fn add(&mut self, image: &Volume) -> Result<(), GridMismatch> {
        same_grid("the count and an image", &self.grid, &image.grid)?;
        let mask = foreground(image);
        self.counts.par_iter_mut().zip(&mask.voxels).for_each(|(count, mask)| *count += u32::from(*mask > 0.5));
        self.images += 1;
        Ok(())
    }

    /// 1 where at least half of the subjects have foreground, else 0: the brain of their average, however blurred its edge
    /// is.
    pub fn half(&self) -> Volume {
        let least = self.images.div_ceil(2).max(1);
        let voxels = self.counts.par_iter().map(|count| if *count >= least { 1.0 } else { 0.0 }).collect();
        Volume { grid: self.grid.clone(), voxels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_enough() {
        let grid = Grid::axis_aligned([5, 1, 1], [1.0; 3]);
        let image = |voxels: [f32; 5]| Volume { grid: grid.clone(), voxels: voxels.to_vec() };
        let mut coverage = Coverage::new(&grid);
        assert_eq!(coverage.half().voxels, [0.0; 5]);
        for voxels in [[0.0, 9.0, 9.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 50.0, 40.0, 0.0, 0.0]] {
            coverage.add(&image(voxels)).expect("one grid");
        }
        assert_eq!(coverage.half().voxels, [0.0, 1.0, 1.0, 0.0, 0.0], "two of three");
        coverage.add(&image([0.0, 0.0, 0.0, 1.0, 0.0])).expect("one grid");
        assert_eq!(coverage.half().voxels, [0.0, 1.0, 1.0, 1.0, 0.0], "two of four");
        assert!(coverage.add(&Volume::filled(Grid::axis_aligned([4, 1, 1], [1.0; 3]), 1.0)).is_err());
    }
}
