//! Finer copies of images whose voxels are larger than those of the template. In such an image, the registration would
//! end on a coarse level, and the edge of the brain would lie between few voxels.

use antsreg_core::memory::{self, Shortage};
use antsreg_core::{Grid, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, resample};
use nalgebra::Vector3;

/// By how much a grid is refined along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finer([usize; 3]);

/// The largest factor of a refinement. Images that need a larger one are refused before they are refined: they show
/// nothing of the size of a head.
const MOST: f64 = 64.0;

impl Finer {
    /// How an image on `grid` is refined, so that no spacing is more than √2 times that of `template`. `None` if its
    /// smallest spacing is not.
    pub fn than(grid: &Grid, template: &Grid) -> Option<Finer> {
        let largest = std::f64::consts::SQRT_2 * template.spacing.min();
        let factor = |mm: f64| (mm / largest).ceil().min(MOST) as usize;
        (factor(grid.spacing.min()) > 1).then(|| Finer([0, 1, 2].map(|axis| factor(grid.spacing[axis]))))
    }

    /// The refined grid: the voxel centres of `grid`, with others between them.
    pub fn grid(self, grid: &Grid) -> Grid {
        let Finer(factors) = self;
        Grid {
            shape: [0, 1, 2].map(|axis| (grid.shape[axis] - 1) * factors[axis] + 1),
            spacing: Vector3::from_fn(|axis, _| grid.spacing[axis] / factors[axis] as f64),
            ..grid.clone()
        }
    }

    /// A copy of an image on the refined grid, by linear interpolation.
    ///
    /// # Errors
    /// If the copy does not fit into the available memory.
    pub fn copy(self, image: &Volume) -> Result<Volume, Shortage> {
        let grid = self.grid(&image.grid);
        memory::check_volume(grid.shape, size_of::<f32>())?;
        Ok(resample(image, &grid, &TransformChain::default(), Interpolation::Linear, 0.0))
    }

    /// The values of a volume on the refined grid at the voxel centres of `grid`.
    pub fn at_voxels(self, refined: &Volume, grid: &Grid) -> Volume {
        let (Finer([fx, fy, fz]), [_, ny, nz]) = (self, grid.shape);
        let [width, rows, _] = refined.grid.shape;
        let row = |n: usize| &refined.voxels[(n / ny * fz * rows + n % ny * fy) * width..][..width];
        let voxels = (0..ny * nz).flat_map(|n| row(n).iter().step_by(fx).copied()).collect();
        Volume { grid: grid.clone(), voxels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(spacing: [f64; 3]) -> Grid {
        Grid::axis_aligned([5, 4, 3], spacing)
    }

    #[test]
    fn images_with_small_voxels_along_any_axis_stay_as_they_are() {
        let finer = |spacing| Finer::than(&grid(spacing), &grid([2.0; 3]));
        assert_eq!(finer([0.9, 0.9, 5.0]), None);
        assert_eq!(finer([2.8; 3]), None);
        // A header may give 3 mm with an error of rounding.
        assert_eq!(finer([2.999, 4.0, 6.0]), Some(Finer([2, 2, 3])));
    }

    #[test]
    fn a_finer_copy_has_the_voxels_of_the_image_and_means_between_them() {
        let mut coarse = grid([4.0, 4.0, 6.0]);
        coarse.origin.x = -7.0;
        let image = Volume { voxels: (0..60).map(|n| (n * n % 17) as f32).collect(), grid: coarse.clone() };
        let finer = Finer::than(&coarse, &grid([2.0; 3])).expect("large voxels");
        let copy = finer.copy(&image).expect("memory");
        assert_eq!(copy.grid.shape, [9, 7, 7]);
        assert_eq!(copy.grid.spacing, Vector3::repeat(2.0));
        assert_eq!(copy.grid.origin, coarse.origin);
        assert_eq!(copy.voxels[1], (image.voxels[0] + image.voxels[1]) / 2.0);
        assert_eq!(finer.at_voxels(&copy, &coarse).voxels, image.voxels);
    }
}
