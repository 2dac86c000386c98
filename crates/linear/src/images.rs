//! The fixed and the moving image on the device, and the resolution levels computed from them.

use std::sync::Arc;

use antsreg_core::intensity::Quantiles;
use antsreg_core::{AffineTransform, Grid, Unit, Volume, unit};
use antsreg_kernels::{Backend, Input};
use nalgebra::{Matrix3, Point3};
use rayon::prelude::*;

use crate::fixed::{Fixed, FixedLevel, FixedValues};
use crate::grids::{isotropic, reordered, thinned};
use crate::level::Level;
use crate::overlap::Overlap;
use crate::pose::Pose;
use crate::{Cost, Error, Options, Side, grids, overlap, search};

/// Full width at half maximum of a Gaussian with a standard deviation of 1.
const FWHM: f64 = 2.354_820_045;

/// Largest allowed angle between the planes of two slices, degrees.
const MOST_TILT_DEGREES: f64 = 20.0;

/// Number of samples along the longest side of an image from which the extent of its object is measured.
const EXTENT_SAMPLES: f64 = 32.0;

/// Fields of view whose volumes differ by at most this share count as equal.
const SAME_VOLUME: f64 = 1e-3;

/// The fixed or the moving image on the device, with intensities clamped to the image's robust range.
pub(crate) struct Source<B: Backend> {
    pub grid: Grid,
    pub image: Arc<B::Image>,
    weight: Option<Arc<B::Image>>,
    /// The part of the grid that counts: all voxels or, if there is a weight, the box around its positive voxels.
    view: Grid,
    pub low_high: (f32, f32),
    /// Extent of the object in the image, mm, as [`Unit::of_extent`] takes it.
    extent_mm: f64,
}

/// Which image of a registration has the role of the fixed image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The fixed image has it.
    Given,
    /// The moving image has it.
    Exchanged,
}

/// The fixed and the moving image of a registration, with all lengths in the unit that suits both.
///
/// Within a search, "mm" stands for this unit: the lengths of the search are those of a human head, whose unit is 1 mm.
pub(crate) struct Images<'a, B: Backend> {
    backend: &'a B,
    fixed: &'a Fixed<B>,
    pub unit: Unit,
    fixed_source: Source<B>,
    moving: Source<B>,
}

impl<'a, B: Backend> Images<'a, B> {
    pub fn new(
        backend: &'a B,
        fixed: &'a Fixed<B>,
        moving: &Input<'_, B::Image>,
        weight: Option<&Volume>,
    ) -> Result<Self, Error> {
        check_planes(&fixed.source.grid, moving.grid)?;
        let moving = Source::new(backend, Side::Moving, moving, weight, &fixed.options)?;
        let unit = Unit::of_extent(fixed.source.extent_mm.max(moving.extent_mm));
        let (fixed_source, moving) = (fixed.source.in_unit(unit), moving.in_unit(unit));
        Ok(Images { backend, fixed, unit, fixed_source, moving })
    }

    /// Size of the finest detail that both images have, mm: the smallest voxel size of the fixed or of the moving
    /// image, whichever is larger. No resolution level is finer.
    pub fn voxel_mm(&self) -> f64 {
        smallest_mm(&self.fixed_source.grid).max(smallest_mm(&self.moving.grid))
    }

    /// Whether the images are slices; otherwise both are volumes.
    pub fn are_slices(&self) -> bool {
        self.fixed_source.grid.is_slice()
    }

    /// The fixed image.
    pub fn fixed(&self) -> &Source<B> {
        &self.fixed_source
    }

    /// What computes.
    pub fn backend(&self) -> &B {
        self.backend
    }

    /// The moving image.
    pub fn moving(&self) -> &Source<B> {
        &self.moving
    }

    /// The images in an order: the one with the role of the fixed image first.
    fn ordered(&self, order: Order) -> [&Source<B>; 2] {
        match order {
            Order::Given => [&self.fixed_source, &self.moving],
            Order::Exchanged => [&self.moving, &self.fixed_source],
        }
    }

    /// The order in which the image with the smaller field of view has the role of the fixed image; the given order if
    /// both are equal.
    pub fn smaller_first(&self) -> Order {
        let [fixed, moving] = self.ordered(Order::Given).map(|source| overlap::volume(&source.view));
        if moving < (1.0 - SAME_VOLUME) * fixed { Order::Exchanged } else { Order::Given }
    }

    /// Axes, in world coordinates, of the image with the role of the moving image, as columns.
    pub fn moving_axes(&self, order: Order) -> Matrix3<f64> {
        self.ordered(order)[1].grid.direction
    }

    /// The poses (centre of mass and principal axes) of the fixed and the moving image on the coarsest level.
    pub fn poses(&self) -> Result<[Pose; 2], Error> {
        let mm = search::levels(self.voxel_mm(), self.fixed.options.finest_mm)[0];
        Ok([self.fixed.pose(self, mm)?, self.moving.pose(self.backend, mm)?])
    }

    /// The overlap of both images, compared with the overlap under the starts of a search, fixed → moving, RAS mm, in
    /// the roles that `order` gives.
    pub fn overlap(&self, order: Order, starts: &[AffineTransform]) -> Overlap {
        let [fixed, moving] = self.ordered(order);
        Overlap::new(&fixed.view, &moving.view, starts)
    }

    /// The resolution level with voxels of `mm`, in the roles that `order` gives: the fixed image on an isotropic grid
    /// of such voxels, and the moving image blurred to the same resolution.
    ///
    /// The axes of the moving image are reordered so that `fixed_to_moving` and similar transforms read its voxels in
    /// the order in which they are stored. Reading across that order takes five times as long.
    pub fn level<'b>(
        &'b self,
        order: Order,
        mm: f64,
        fixed_to_moving: &AffineTransform,
        overlap: &'b Overlap,
    ) -> Result<Level<'b, B>, Error> {
        let (backend, options, [source, moving]) = (self.backend, &self.fixed.options, self.ordered(order));
        let fixed = match order {
            Order::Given => self.fixed.level(self, mm)?,
            Order::Exchanged => Arc::new(source.fixed_level(backend, mm, options)?),
        };
        let moving_grid = reordered(&thinned(&moving.grid, mm), &(fixed_to_moving.matrix * fixed.grid.direction));
        Ok(Level {
            backend,
            overlap,
            mm,
            optimiser: options.optimiser,
            cost: options.cost,
            histogram: options.histogram,
            low_high: [source.low_high, moving.low_high],
            moving: moving.blurred(backend, &moving_grid, mm)?,
            moving_weight: match &moving.weight {
                Some(weight) => Some(resampled(backend, weight, &moving.grid, &moving_grid)?),
                None => None,
            },
            edge_voxels: edge_voxels(&moving_grid, mm),
            fixed_voxel_to_world: fixed.grid.voxel_to_world(),
            world_to_moving_voxel: moving_grid.world_to_voxel(),
            fixed,
        })
    }
}

impl<B: Backend> Source<B> {
    pub fn new(
        backend: &B,
        side: Side,
        input: &Input<'_, B::Image>,
        weight: Option<&Volume>,
        options: &Options,
    ) -> Result<Self, Error> {
        let grid = input.grid;
        let mut image = input.load(backend)?;
        let Quantiles { finite, low_high } = robust_range(backend, &image, options.robust_shares)?;
        let count = grid.len() - finite;
        if count > 0 {
            return Err(Error::NotFinite { side, count });
        }
        let low_high = low_high.ok_or(Error::Constant(side))?;
        backend.clip(&mut image, low_high, 0.0, 1.0)?;
        let (weight, view) = match weight {
            Some(weight) => {
                check_weight(side, grid, weight, options)?;
                (Some(Arc::new(upload_weight(backend, weight, options.cost)?)), positive_part(weight))
            }
            None => (None, grid.clone()),
        };
        let mut source =
            Source { grid: grid.clone(), image: Arc::new(image), weight, view, low_high, extent_mm: 0.0 };
        source.extent_mm = source.measured_extent(backend)?;
        Ok(source)
    }

    /// The same image with its lengths, now in mm, in `unit`.
    pub fn in_unit(&self, unit: Unit) -> Source<B> {
        Source {
            grid: unit.grid(&self.grid),
            image: self.image.clone(),
            weight: self.weight.clone(),
            view: unit.grid(&self.view),
            ..*self
        }
    }

    /// The same image, whose lengths are in the unit `from`, with its lengths in `to`.
    pub fn in_other_unit(&self, from: Unit, to: Unit) -> Source<B> {
        self.in_unit(to.per(from))
    }

    /// The unit that suits the object in this image alone.
    pub fn unit(&self) -> Unit {
        Unit::of_extent(self.extent_mm)
    }

    /// Extent of the object in the image, whose lengths are in mm ([`unit::extent_mm`]).
    fn measured_extent(&self, backend: &B) -> Result<f64, Error> {
        let samples = grids::sampled(&self.grid, self.grid.longest_side_mm() / EXTENT_SAMPLES);
        Ok(unit::extent_mm(&samples, &self.masses(backend, &self.image, &samples)?, 0.0))
    }

    /// The pose (centre of mass and principal axes) of the object in the image at a resolution of `mm`. The mass of a
    /// voxel is the clamped intensity above the lower end of the robust range, times the weight.
    pub fn pose(&self, backend: &B, mm: f64) -> Result<Pose, Error> {
        let grid = isotropic(&self.grid, mm);
        let blurred = backend.smooth(&self.image, sigma_voxels(&self.grid, mm))?;
        let voxels = self.masses(backend, &blurred, &grid)?;
        Ok(Pose::of(&Volume { grid, voxels }))
    }

    /// The masses of the voxels of a coarse grid. `image` is this image or a blurred copy.
    fn masses(&self, backend: &B, image: &B::Image, grid: &Grid) -> Result<Vec<f32>, Error> {
        let mut voxels = backend.download(&resampled(backend, image, &self.grid, grid)?)?;
        voxels.iter_mut().for_each(|value| *value -= self.low_high.0);
        if let Some(weight) = &self.weight {
            let weight = backend.download(&resampled(backend, weight, &self.grid, grid)?)?;
            voxels.iter_mut().zip(weight).for_each(|(value, weight)| *value *= weight);
        }
        Ok(voxels)
    }

    /// The fixed image on the resolution level with voxels of `mm`: resampled to an isotropic grid, and sorted into
    /// bins if the cost uses bins.
    pub fn fixed_level(&self, backend: &B, mm: f64, options: &Options) -> Result<FixedLevel<B>, Error> {
        let grid = grids::of_level(&self.grid, mm, options);
        let image = match options.joins_partial_volumes() {
            true => self.splined(backend, &grid, mm)?,
            false => self.blurred(backend, &grid, mm)?,
        };
        let weight = match &self.weight {
            Some(weight) => Some(blurred(backend, weight, &self.grid, &grid, mm)?),
            // Parts of an oblique grid lie outside the image. Voxels there get a weight of 0.
            None if options.joins_partial_volumes() => {
                Some(resampled(backend, &ones(backend, &self.image)?, &self.grid, &grid)?)
            }
            None => None,
        };
        if !options.cost.has_bins() {
            return Ok(FixedLevel { grid, values: FixedValues::Plain { image, weight } });
        }
        let bins = options.cost.bins_at(options.bins, mm, self.grid.is_slice());
        let binned = backend.bin_fixed(&image, weight.as_ref(), self.low_high, bins)?;
        Ok(FixedLevel { grid, values: FixedValues::Binned(binned, bins) })
    }

    fn blurred(&self, backend: &B, to: &Grid, mm: f64) -> Result<B::Image, Error> {
        blurred(backend, &self.image, &self.grid, to, mm)
    }

    /// The image blurred to a resolution of `mm` and read on an oblique grid by cubic splines. Linear interpolation
    /// between voxels would blur it further, so that the minimum of the cost would be less precise.
    fn splined(&self, backend: &B, to: &Grid, mm: f64) -> Result<B::Image, Error> {
        let blurred = backend.smooth(&self.image, sigma_voxels(&self.grid, mm))?;
        let coefficients = backend.spline_coefficients(&blurred)?;
        drop(blurred);
        let to_image = self.grid.world_to_voxel().after(&to.voxel_to_world());
        let mut out = backend.image(to.shape)?;
        backend.warp_spline(&coefficients, &backend.field(to.shape)?, &to_image, &mut out)?;
        Ok(out)
    }
}

fn blurred<B: Backend>(backend: &B, image: &B::Image, from: &Grid, to: &Grid, mm: f64) -> Result<B::Image, Error> {
    let blurred = backend.smooth(image, sigma_voxels(from, mm))?;
    if from == to { Ok(blurred) } else { resampled(backend, &blurred, from, to) }
}

fn resampled<B: Backend>(backend: &B, image: &B::Image, from: &Grid, to: &Grid) -> Result<B::Image, Error> {
    let to_from: AffineTransform = from.world_to_voxel().after(&to.voxel_to_world());
    let mut out = backend.image(to.shape)?;
    backend.resample(image, &to_from, 0.0, &mut out)?;
    Ok(out)
}

/// An image of the same shape with all voxels 1. To make it on the device takes less time than to copy it there.
fn ones<B: Backend>(backend: &B, image: &B::Image) -> Result<B::Image, Error> {
    let mut ones = backend.copy(image)?;
    backend.clip(&mut ones, (1.0, 1.0), 0.0, 1.0)?;
    Ok(ones)
}

/// An image and its weight have the same grid if their voxels are at most this far apart, in voxels. Positions in headers
/// are rounded.
const SAME_GRID_VOXELS: f64 = 1e-2;

fn check_weight(side: Side, grid: &Grid, weight: &Volume, options: &Options) -> Result<(), Error> {
    if !weight.grid.matches(grid, SAME_GRID_VOXELS * smallest_mm(grid)) {
        return Err(Error::WeightGrid { side, expected: grid.shape, found: weight.grid.shape });
    }
    let usable = weight.voxels.par_iter().all(|value| *value >= 0.0 && value.is_finite());
    let found = weight.voxels.par_iter().filter(|value| **value > 0.0).count();
    if !usable || found == 0 {
        return Err(Error::Weight(side));
    }
    if options.cost.has_bins() && found < options.bins {
        return Err(Error::FewVoxels { side, found, bins: options.bins });
    }
    Ok(())
}

/// The smallest part of a weight's grid that has all positive weights.
fn positive_part(weight: &Volume) -> Grid {
    let grid = &weight.grid;
    let Some([first, last]) = weight.bounds_above(0.0) else { return grid.clone() };
    let origin = grid.voxel_to_world().apply(&Point3::from(first.map(|index| index as f64)));
    Grid { shape: std::array::from_fn(|axis| last[axis] + 1 - first[axis]), origin, ..grid.clone() }
}

/// Copies a weight image to the device. Joint histograms need weights of at most 1, so larger weights are divided by
/// their maximum. This does not change the cost, which depends only on ratios of weights.
fn upload_weight<B: Backend>(backend: &B, weight: &Volume, cost: Cost) -> Result<B::Image, Error> {
    let most = weight.voxels.iter().fold(1.0f32, |most, value| most.max(*value));
    if !cost.has_joint_histogram() || most <= 1.0 {
        return Ok(backend.upload(weight.grid.shape, &weight.voxels)?);
    }
    let scaled: Vec<f32> = weight.voxels.iter().map(|value| value / most).collect();
    Ok(backend.upload(weight.grid.shape, &scaled)?)
}

/// The range from the intensity at the quantile `low` to the intensity at the quantile `high`. If both intensities are
/// equal, as in an image of a small object, returns the range of all intensities; `None` for a constant image.
fn robust_range<B: Backend>(backend: &B, image: &B::Image, [low, high]: [f64; 2]) -> Result<Quantiles, Error> {
    let range = |low, high| -> Result<Quantiles, Error> {
        let found = backend.quantiles(image, low, high)?;
        Ok(Quantiles { low_high: found.low_high.filter(|range| range.1 > range.0), ..found })
    };
    let robust = range(low, high)?;
    if robust.low_high.is_some() { Ok(robust) } else { range(0.0, 1.0) }
}

/// Checks that both images are volumes or both are slices, and that the planes of two slices have nearly the same
/// orientation.
pub(crate) fn check_planes(fixed: &Grid, moving: &Grid) -> Result<(), Error> {
    if fixed.is_slice() != moving.is_slice() {
        return Err(Error::SliceAndVolume { fixed: fixed.shape, moving: moving.shape });
    }
    let cosine = fixed.direction.column(2).dot(&moving.direction.column(2)).abs().min(1.0);
    if fixed.is_slice() && cosine < MOST_TILT_DEGREES.to_radians().cos() {
        return Err(Error::Planes { found_degrees: cosine.acos().to_degrees(), most_degrees: MOST_TILT_DEGREES });
    }
    Ok(())
}

/// The smallest voxel size of a grid, mm; for a slice, the smallest size within its plane.
fn smallest_mm(grid: &Grid) -> f64 {
    if grid.is_slice() { grid.spacing.x.min(grid.spacing.y) } else { grid.spacing.min() }
}

/// Width of the zone at the edge of the moving image's field of view where weights fall to 0, along each axis, in
/// voxels. It is 0 along the normal of a slice.
fn edge_voxels(grid: &Grid, mm: f64) -> [f64; 3] {
    let mut edge = grid.spacing.map(|spacing| mm / spacing);
    if grid.is_slice() {
        edge.z = 0.0;
    }
    edge.into()
}

/// Standard deviation of the Gaussian that blurs an image on `grid` to a resolution of `mm`, in voxels. The variances
/// of this Gaussian and of a voxel add up to the variance of the level. The standard deviation is 0 along the normal of
/// a slice.
fn sigma_voxels(grid: &Grid, mm: f64) -> [f64; 3] {
    let mut sigma = grid.spacing.map(|spacing| (mm * mm - spacing * spacing).max(0.0).sqrt() / FWHM / spacing);
    if grid.is_slice() {
        sigma.z = 0.0;
    }
    sigma.into()
}

#[cfg(test)]
mod tests;
