//! The time points in the common space, and their warps to the mean of the others.

use std::sync::Arc;

use antsreg_cohort::longitudinal::common_grid;
use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{self, Interpolation};
use antsreg_register::{Device, Recipe, Side, register};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use super::Error;
use super::read::Image;
use crate::observer::Observer;

/// Width of the border around the brains, mm. The coarsest level of the deformable stage has voxels of 8 mm at 1 mm, and
/// needs one of background.
const MARGIN_MM: f64 = 10.0;

/// The common space: its grid, and each time point resampled there once.
#[derive(Debug)]
pub struct Common {
    /// The grid.
    pub grid: Grid,
    /// The mask of the brain: where at least half of the masks of the time points are.
    pub mask: Volume,
    /// The centre of the brain, RAS mm.
    pub centre: Point3<f64>,
    /// Each time point in its pose, with the same mean intensity in the brain.
    pub images: Vec<Volume>,
    /// Factor of the intensities of each time point.
    pub factors: Vec<f64>,
}

impl Common {
    /// Resamples all time points in their poses.
    ///
    /// # Errors
    /// Poses that are singular; brains that do not overlap.
    pub fn new(images: &[Image], poses: &[AffineTransform]) -> Result<Common, crate::Error> {
        let bounds = |image: &Image| image.mask.bounds_above(0.5).ok_or(Error::NoBrain);
        let placed = images.iter().zip(poses).map(|(image, pose)| Ok((&image.mask.grid, bounds(image)?, *pose)));
        let placed = placed.collect::<Result<Vec<_>, Error>>()?;
        let grid = common_grid(&placed, MARGIN_MM).ok_or(Error::NoBrain)?;
        let chain = |pose: &AffineTransform| TransformChain::from(vec![Transform::Affine(*pose)]);
        let masks = images.iter().zip(poses);
        let masks =
            masks.map(|(image, pose)| apply::resample(&image.mask, &grid, &chain(pose), Interpolation::Linear, 0.0));
        let mut mask = mean(&masks.collect::<Vec<_>>());
        mask.voxels.iter_mut().for_each(|share| *share = if *share >= 0.5 { 1.0 } else { 0.0 });
        let centre = mask.centre_of_mass().ok_or(Error::NoBrain)?;
        let logs: f64 = images.iter().map(|image| image.mean.ln()).sum();
        let all = (logs / images.len() as f64).exp();
        let factors: Vec<f64> = images.iter().map(|image| all / image.mean).collect();
        let mut common = Common { grid, mask, centre, images: Vec::new(), factors };
        for (n, (image, pose)) in images.iter().zip(poses).enumerate() {
            common.images.push(common.shown(image, n, &chain(pose)));
        }
        Ok(common)
    }

    /// A time point on the grid of the common space, through a chain of transforms. Outside its brain, or outside the
    /// brain of all time points if it shows more than the brain, it is 0.
    pub fn shown(&self, image: &Image, place: usize, chain: &TransformChain) -> Volume {
        let mut shown = apply::resample(&image.whole, &self.grid, chain, Interpolation::BSpline, 0.0);
        // The spline rings beside the border of an extracted brain.
        let least = image.whole.range().map_or(0.0, |(least, _)| least);
        let own;
        let mask = match image.beyond_brain {
            true => &self.mask,
            false => {
                own = apply::resample(&image.mask, &self.grid, chain, Interpolation::Linear, 0.0);
                &own
            }
        };
        let factor = self.factors[place] as f32;
        shown.voxels.par_iter_mut().zip(&mask.voxels).for_each(|(value, mask)| {
            *value = if *mask >= 0.5 { value.max(least) * factor } else { 0.0 };
        });
        shown
    }

    /// A time point on its own grid. If it shows more than the brain, it is 0 outside the brain of all time points, so
    /// that the borders of the brains do not differ where they were extracted differently.
    pub fn in_own_space(&self, image: &Image, pose: &AffineTransform) -> Arc<Volume> {
        let Some(back) = pose.inverse().filter(|_| image.beyond_brain) else { return image.brain.clone() };
        let chain = TransformChain::from(vec![Transform::Affine(back)]);
        let mask = apply::resample(&self.mask, &image.whole.grid, &chain, Interpolation::Linear, 0.0);
        let inside = |(value, mask): (&f32, &f32)| if *mask >= 0.5 { *value } else { 0.0 };
        let voxels = image.whole.voxels.par_iter().zip(&mask.voxels).map(inside).collect();
        Arc::new(Volume { voxels, grid: image.whole.grid.clone() })
    }

    /// The mean of all time points but one.
    pub fn mean_of_others(&self, but: usize) -> Volume {
        let others: Vec<&Volume> =
            self.images.iter().enumerate().filter(|(n, _)| *n != but).map(|(_, image)| image).collect();
        mean(&others)
    }

    /// The warp from the common space to a time point, found by registration to the mean of the others. Both images lie on
    /// the grid of the common space and were resampled alike, so that no side is treated differently.
    ///
    /// # Errors
    /// Images that cannot be registered; a registration that was stopped; a device that fails.
    pub fn warp(
        &self,
        place: usize,
        recipe: &Recipe,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<DisplacementField, crate::Error> {
        let options = recipe.options(self.grid.shape)?;
        let (fixed, moving) = (Side::new(self.mean_of_others(place)), Side::new(self.images[place].clone()));
        let found = register(&fixed, &moving, &options, device, observer.progress())?.finish()?;
        Ok(found.forward.into_displacement().unwrap_or_else(|| DisplacementField::zeros(self.grid.clone())))
    }
}

/// The mean of volumes on one grid, added in their order in double precision.
pub fn mean<V: std::borrow::Borrow<Volume> + Sync>(volumes: &[V]) -> Volume {
    let grid =
        volumes.first().map_or_else(|| Grid::axis_aligned([0; 3], [1.0; 3]), |first| first.borrow().grid.clone());
    let of_voxel = |n: usize| {
        let sum: f64 = volumes.iter().map(|volume| f64::from(volume.borrow().voxels[n])).sum();
        (sum / volumes.len() as f64) as f32
    };
    Volume { voxels: (0..grid.len()).into_par_iter().map(of_voxel).collect(), grid }
}

/// Subtracts the mean of all warps from each, so that the common space has the mean shape. What all registrations have in
/// common, such as an effect of resampling the fixed image alone, is subtracted with it.
pub fn subtract_mean(warps: &mut [DisplacementField]) {
    let Some(count) = warps.first().map(|first| first.vectors.len()) else { return };
    let all = warps.len() as f64;
    let mean_of = |n: usize| {
        let sum =
            warps.iter().fold(Vector3::zeros(), |sum, warp| sum + Vector3::from(warp.vectors[n].map(f64::from)));
        sum / all
    };
    let means: Vec<Vector3<f64>> = (0..count).into_par_iter().map(mean_of).collect();
    for warp in warps {
        warp.vectors.par_iter_mut().zip(&means).for_each(|(vector, mean)| {
            *vector = std::array::from_fn(|axis| (f64::from(vector[axis]) - mean[axis]) as f32);
        });
    }
}
