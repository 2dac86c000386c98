//! The reference volume of a series, prepared once for the alignment of all volumes.

use antsreg_core::{Grid, Unit, Volume, unit};
use antsreg_kernels::ops::{Intensity, Memory};
use antsreg_kernels::{Backend, Cpu, Place};
use nalgebra::Point3;
use rayon::prelude::*;

use crate::generators::Generators;
use crate::information::{Binned, Moving};
use crate::points::Points;
use crate::{Cost, Error, Options};

/// The reference volume on a device, to which the volumes of a series are aligned.
pub struct Reference<'d, B: Backend> {
    pub(crate) device: &'d B,
    /// The grid of the reference volume, mm.
    grid: Grid,
    /// The unit of all lengths within an alignment. It suits the object in the reference; where an alignment says "mm",
    /// a human head is meant, whose unit is 1 mm.
    pub(crate) unit: Unit,
    pub(crate) generators: Generators,
    pub(crate) levels: Vec<Level<B>>,
    /// The voxels of the reference, smoothed as on the finest level and sorted into intensity bins; `None` unless the
    /// cost is normalised mutual information.
    pub(crate) binned: Option<Binned<B>>,
    pub(crate) options: Options,
}

/// The reference volume of a series on one level of smoothing.
pub(crate) struct Level<B: Backend> {
    /// Standard deviation of the Gaussian that smooths the reference and the volumes, mm.
    pub sigma_mm: f64,
    pub points: Points<B>,
}

/// A volume prepared for alignment: its grid in the unit of the reference and, for each level, the coefficients of a spline through its smoothed
/// voxels.
pub(crate) struct Prepared<B: Backend> {
    pub grid: Grid,
    pub levels: Vec<B::Image>,
    /// The volume, smoothed as on the finest level; `None` unless the cost is normalised mutual information.
    pub moving: Option<Moving<B>>,
}

impl<'d, B: Backend> Reference<'d, B> {
    /// Smallest allowed number of voxels of a volume along each axis.
    pub const LEAST_VOXELS: usize = 4;

    /// Prepares a reference volume. Motions rotate and scale about its centre of mass.
    ///
    /// # Errors
    /// Options out of range; a volume that is too thin or has no contrast; a device that fails.
    pub fn new(device: &'d B, volume: &Volume, options: &Options) -> Result<Reference<'d, B>, Error> {
        options.check()?;
        check_shape::<B>(volume.grid.shape)?;
        let darkest = volume.range().map_or(0.0, |(darkest, _)| darkest);
        let unit = Unit::of_extent(unit::extent_mm(&volume.grid, &volume.voxels, darkest));
        let (grid, volume) = (volume.grid.clone(), &Volume { grid: unit.grid(&volume.grid), ..volume.clone() });
        let centre = volume.centre_of_mass().unwrap_or_else(|| volume.grid.centre());
        let generators = Generators::new(options.dof, centre);
        let last = options.smoothing_sigmas_mm.len() - 1;
        let level = |(n, &sigma_mm): (usize, &f64)| {
            let smooth = smoothed_on_cpu(volume, sigma_mm)?;
            let most = if n < last { options.points / COARSE } else { options.points };
            let points =
                Points::new(device, &smooth, &generators, options.cost, most, margin(&volume.grid, sigma_mm))?;
            Ok(Level { sigma_mm, points })
        };
        let levels = options.smoothing_sigmas_mm.iter().enumerate().map(level).collect::<Result<_, Error>>()?;
        let binned = match options.cost {
            Cost::Nmi => Some(Binned::new(device, &smoothed_on_cpu(volume, options.smoothing_sigmas_mm[last])?)?),
            Cost::Ncc | Cost::Lsq | Cost::Cr => None,
        };
        Ok(Reference { device, grid, unit, generators, levels, binned, options: options.clone() })
    }

    /// The grid of the reference volume.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The centre about which motions rotate: the reference's centre of mass, RAS mm.
    pub fn centre(&self) -> Point3<f64> {
        self.generators.centre() * self.unit.mm()
    }

    /// Prepares volumes for alignment. On the CPU, several volumes are prepared in parallel.
    pub(crate) fn prepare_all(&self, volumes: &[&Volume]) -> Vec<Result<Prepared<B>, Error>> {
        match self.device.place() {
            Place::Main => volumes.par_iter().map(|volume| self.prepare(volume)).collect(),
            _ => volumes.iter().map(|volume| self.prepare(volume)).collect(),
        }
    }

    pub(crate) fn prepare(&self, volume: &Volume) -> Result<Prepared<B>, Error> {
        let grid = self.unit.grid(&volume.grid);
        let shape = grid.shape;
        check_shape::<B>(shape)?;
        let mut numbers = volume.voxels.iter().filter(|value| !value.is_nan());
        if numbers.next().is_none_or(|first| numbers.all(|value| value == first)) {
            return Err(Error::Constant);
        }
        let image = self.device.upload(shape, &volume.voxels)?;
        let (mut levels, mut moving) = (Vec::with_capacity(self.levels.len()), None);
        for (n, level) in self.levels.iter().enumerate() {
            let smooth = self.device.smooth(&image, sigma_voxels(&grid, level.sigma_mm))?;
            levels.push(self.device.spline_coefficients(&smooth)?);
            if self.binned.is_some() && n + 1 == self.levels.len() {
                moving = Some(Moving::new(self.device, smooth)?);
            }
        }
        Ok(Prepared { grid, levels, moving })
    }
}

/// On all levels except the finest, the number of compared voxels is the number in the options divided by this factor.
const COARSE: usize = 4;

fn check_shape<B: Backend>(shape: [usize; 3]) -> Result<(), Error> {
    let least = Reference::<B>::LEAST_VOXELS;
    if shape.iter().any(|extent| *extent < least) { Err(Error::Thin { found: shape, least }) } else { Ok(()) }
}

/// The reference volume smoothed by a Gaussian. This runs on the CPU, so that the same points are compared on every
/// device.
fn smoothed_on_cpu(volume: &Volume, sigma_mm: f64) -> Result<Volume, Error> {
    let image = Cpu.upload(volume.grid.shape, &volume.voxels)?;
    let voxels = Cpu.download(&Cpu.smooth(&image, sigma_voxels(&volume.grid, sigma_mm))?)?;
    Ok(Volume { grid: volume.grid.clone(), voxels })
}

/// Standard deviation of the smoothing along each axis, voxels. It is at most the length of the axis: wider Gaussians make
/// the axis nearly constant, too, and their kernels would be longer than the axis by any factor.
fn sigma_voxels(grid: &Grid, sigma_mm: f64) -> [f64; 3] {
    std::array::from_fn(|axis| (sigma_mm / grid.spacing[axis]).min(grid.shape[axis] as f64))
}

/// Width of the border of a smoothed volume that is not compared, along each axis in voxels, because smoothing mixes in
/// values from outside the volume. The width is one and a half standard deviations of the smoothing, but at most an
/// eighth of the axis.
pub(crate) fn margin(grid: &Grid, sigma_mm: f64) -> [usize; 3] {
    std::array::from_fn(|axis| {
        let reach = (1.5 * sigma_mm / grid.spacing[axis]).ceil() as usize;
        reach.clamp(1, (grid.shape[axis] / 8).max(1))
    })
}
