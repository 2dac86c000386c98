//! The reference volume, prepared once for all volumes of a series.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::apply::BSpline;
use antsreg_kernels::{Backend, Cpu};
use nalgebra::Point3;

use crate::align::{Aligned, align};
use crate::generators::Generators;
use crate::points::Points;
use crate::{Error, Options};

/// The reference volume, to which volumes are aligned.
pub struct Reference {
    /// Where its voxels lie.
    pub(crate) grid: Grid,
    pub(crate) generators: Generators,
    pub(crate) levels: Vec<Level>,
    pub(crate) options: Options,
}

/// The reference on one level.
pub(crate) struct Level {
    /// Standard deviation of the Gaussian that smooths both images, mm.
    pub sigma_mm: f64,
    pub points: Points,
}

/// A volume on one level.
pub(crate) struct Smoothed {
    pub spline: BSpline,
    pub shape: [usize; 3],
    pub margin: [usize; 3],
}

impl Reference {
    /// Voxels that a volume has at least along each axis.
    pub const LEAST_VOXELS: usize = 4;

    /// Prepares a reference. Rotations and scales are about its centre of mass.
    ///
    /// # Errors
    /// Options out of range; a volume that is too thin or has no contrast.
    pub fn new(volume: &Volume, options: &Options) -> Result<Reference, Error> {
        options.check()?;
        check_shape(volume.grid.shape)?;
        let centre = volume.centre_of_mass().unwrap_or_else(|| volume.grid.centre());
        let generators = Generators::new(options.dof, centre);
        let level = |&sigma_mm: &f64| {
            let smooth = smoothed(volume, sigma_mm)?;
            let margin = margin(&volume.grid, sigma_mm);
            let points = Points::new(&smooth, &generators, options.points, margin)?;
            Ok(Level { sigma_mm, points })
        };
        let levels = options.smoothing_sigmas_mm.iter().map(level).collect::<Result<_, Error>>()?;
        Ok(Reference { grid: volume.grid.clone(), generators, levels, options: options.clone() })
    }

    /// Where the voxels of the reference lie.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The centre of rotations, RAS mm.
    pub fn centre(&self) -> Point3<f64> {
        self.generators.centre()
    }

    /// Aligns a volume from the best of several starts, each optimised.
    ///
    /// # Errors
    /// A volume without contrast, or that does not meet the reference from any start.
    pub fn align(&self, volume: &Volume, starts: &[AffineTransform]) -> Result<Aligned, Error> {
        align(self, &self.prepare(volume)?, volume, starts)
    }

    /// A volume on all levels.
    pub(crate) fn prepare(&self, volume: &Volume) -> Result<Vec<Smoothed>, Error> {
        check_shape(volume.grid.shape)?;
        if volume.range().is_none_or(|(low, high)| low == high) {
            return Err(Error::Constant);
        }
        let level = |level: &Level| {
            let smooth = smoothed(volume, level.sigma_mm)?;
            let (shape, margin) = (volume.grid.shape, margin(&volume.grid, level.sigma_mm));
            Ok(Smoothed { spline: BSpline::through(shape, &smooth.voxels), shape, margin })
        };
        self.levels.iter().map(level).collect()
    }
}

fn check_shape(shape: [usize; 3]) -> Result<(), Error> {
    let least = Reference::LEAST_VOXELS;
    if shape.iter().any(|extent| *extent < least) { Err(Error::Thin { found: shape, least }) } else { Ok(()) }
}

/// The volume smoothed by a Gaussian.
fn smoothed(volume: &Volume, sigma_mm: f64) -> Result<Volume, Error> {
    let image = Cpu.upload(volume.grid.shape, &volume.voxels)?;
    let sigma_voxels = volume.grid.spacing.map(|spacing| sigma_mm / spacing);
    let voxels = Cpu.download(&Cpu.smooth(&image, sigma_voxels.into())?)?;
    Ok(Volume { grid: volume.grid.clone(), voxels })
}

/// Voxels at the border of a smoothed volume that show what lies beyond it, where there is no data: one and a half standard
/// deviations, but no more than an eighth of the axis.
fn margin(grid: &Grid, sigma_mm: f64) -> [usize; 3] {
    std::array::from_fn(|axis| {
        let reach = (1.5 * sigma_mm / grid.spacing[axis]).ceil() as usize;
        reach.clamp(1, (grid.shape[axis] / 8).max(1))
    })
}
