//! A bias field: the exponential of a B-spline over an image, evaluated at the image's voxels.

use antsreg_core::{Grid, Volume};
use rayon::prelude::*;

use super::Course;
use super::lattice::{Lattice, value};
use super::samples::Axis;
use super::spline::Reach;

/// Bias field of an image: the factor by which the intensity of each voxel is shaded. It is the exponential of a
/// B-spline.
#[derive(Debug, Clone, PartialEq)]
pub struct BiasField {
    pub(super) axes: [Axis; 3],
    pub(super) lattice: Lattice,
    pub(super) courses: Vec<Course>,
}

impl BiasField {
    /// Iterations and convergence of each resolution level, coarsest level first.
    pub fn courses(&self) -> &[Course] {
        &self.courses
    }

    /// Computes the field's factor at each voxel of `grid`, the grid of the image for which the field was found.
    pub fn on(&self, grid: &Grid) -> Volume {
        let mut field = Volume::filled(grid.clone(), 1.0);
        self.each_row(&mut field, |row, factors| {
            row.iter_mut().zip(factors).for_each(|(voxel, factor)| *voxel = *factor);
        });
        field
    }

    /// Divides the image by the field's factor at each voxel. The image must be the one for which the field was found.
    pub fn divide(&self, image: &mut Volume) {
        self.each_row(image, |row, factors| {
            row.iter_mut().zip(factors).for_each(|(voxel, factor)| *voxel /= factor);
        });
    }

    /// Calls `act` with every row of an image and the factors of the field at the voxels of the row.
    fn each_row(&self, image: &mut Volume, act: impl Fn(&mut [f32], &[f32]) + Sync) {
        let reaches: [Vec<Reach>; 3] = std::array::from_fn(|n| {
            let axis = &self.axes[n];
            (0..axis.voxels).map(|voxel| axis.reach(voxel, self.lattice.elements[n])).collect()
        });
        let [nx, ny, _] = image.grid.shape;
        image.voxels.par_chunks_exact_mut(nx * ny).zip(&reaches[2]).for_each(|(slice, reach)| {
            let plane = self.lattice.slice(reach);
            let (mut points, mut factors) = (Vec::new(), Vec::new());
            for (row, reach) in slice.chunks_exact_mut(nx).zip(&reaches[1]) {
                plane.row(reach, &mut points);
                factors.clear();
                factors.extend(reaches[0].iter().map(|reach| (value(&points, reach) as f32).exp()));
                act(row, &factors);
            }
        });
    }
}
