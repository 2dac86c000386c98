//! Volumes in memory: intensities or labels on a [`Grid`], first axis fastest.

use nalgebra::Point3;
use ndarray::{ArrayView3, ShapeBuilder, ShapeError};
use rayon::prelude::*;

use crate::Grid;

/// A scalar image.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// The grid of the image's voxels.
    pub grid: Grid,
    /// The intensity of each voxel; the first axis runs fastest in memory.
    pub voxels: Vec<f32>,
}

/// An integer label map; label 0 is the background.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelVolume {
    /// The grid of the label map's voxels.
    pub grid: Grid,
    /// The label of each voxel; the first axis runs fastest in memory.
    pub voxels: Vec<i32>,
}

impl Volume {
    /// A constant volume.
    pub fn filled(grid: Grid, value: f32) -> Volume {
        let voxels = vec![value; grid.len()];
        Volume { grid, voxels }
    }

    /// The voxels as an array with the index `[[i, j, k]]`, for permuting, reversing and cropping axes.
    ///
    /// # Errors
    /// The number of voxels differs from that of the grid.
    pub fn view(&self) -> Result<ArrayView3<'_, f32>, ShapeError> {
        ArrayView3::from_shape(self.grid.shape.f(), &self.voxels)
    }

    /// Smallest and largest intensity, leaving out NaN; `None` if all voxels are NaN.
    pub fn range(&self) -> Option<(f32, f32)> {
        let darkest = self.voxels.iter().copied().fold(f32::NAN, f32::min);
        let brightest = self.voxels.iter().copied().fold(f32::NAN, f32::max);
        (!darkest.is_nan()).then_some((darkest, brightest))
    }

    /// The first and the last voxel index along each axis among the voxels above `threshold`; `None` if no voxel is.
    pub fn bounds_above(&self, threshold: f32) -> Option<[[usize; 3]; 2]> {
        self.grid.bounds_of(&self.voxels, |value| *value > threshold)
    }

    /// Mean position of the voxels in world mm, weighted by the intensity above that of the darkest voxel. `None` if
    /// all voxels are equal.
    pub fn centre_of_mass(&self) -> Option<Point3<f64>> {
        self.mean_position(self.voxels.par_iter().copied().reduce(|| f32::INFINITY, f32::min))
    }

    /// Mean position of the voxels in world mm, weighted by intensity: ITK's centre of gravity. `None` if the
    /// intensities add up to zero.
    pub fn centre_of_gravity(&self) -> Option<Point3<f64>> {
        self.mean_position(0.0)
    }

    /// Mean position of the voxels in world mm, each weighted by its intensity minus `nothing`.
    fn mean_position(&self, nothing: f32) -> Option<Point3<f64>> {
        let [nx, ny, _] = self.grid.shape;
        let of_row = |voxels: &[f32]| {
            voxels.iter().enumerate().fold((0.0, 0.0), |(mass, moment), (i, value)| {
                let weight = f64::from(value - nothing);
                (mass + weight, moment + weight * i as f64)
            })
        };
        // The sums of the rows of voxels are added in order, so the result does not depend on the number of threads.
        let rows: Vec<(f64, f64)> = self.voxels.par_chunks_exact(nx).with_min_len(64).map(of_row).collect();
        let (mut mass, mut moment) = (0.0, [0.0; 3]);
        for (row, (row_mass, row_moment)) in rows.into_iter().enumerate() {
            mass += row_mass;
            moment[0] += row_moment;
            moment[1] += row_mass * (row % ny) as f64;
            moment[2] += row_mass * (row / ny) as f64;
        }
        (mass > 0.0).then(|| self.grid.voxel_to_world().apply(&Point3::from(moment.map(|m| m / mass))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_the_voxels_above_the_threshold() {
        let mut volume = Volume::filled(Grid::axis_aligned([4, 5, 6], [1.0; 3]), 1.0);
        assert_eq!(volume.bounds_above(1.0), None);
        volume.voxels[0] = f32::NAN;
        for [i, j, k] in [[1, 4, 2], [2, 3, 2], [1, 3, 5]] {
            volume.voxels[(k * 5 + j) * 4 + i] = 2.0;
        }
        assert_eq!(volume.bounds_above(1.0), Some([[1, 3, 2], [2, 4, 5]]));
    }
}
