//! Estimation of the displacement from images with opposite phase encodings, from coarse to fine levels.

use antsreg_core::{AffineTransform, Grid, Unit, Volume, unit};
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Intensity, Memory, Warping};
use nalgebra::Vector3;

use crate::field::Field;
use crate::level::descend;
use crate::lines::Lines;
use crate::motion;
use crate::pairs::Pair;
use crate::profile::Profile;
use crate::{Error, Level, Options};

/// An image and its phase encoding.
#[derive(Debug, Clone, Copy)]
pub struct Encoded<'a> {
    /// The image.
    pub volume: &'a Volume,
    /// Sign of the encoding, 1 toward larger indices of the axis, times the readout time relative to that of the first
    /// image.
    pub scale: f64,
}

/// The distortion that was found.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The displacement, on the grid of the first image.
    pub field: Field,
    /// For each image, the map from points of the first image to points of this image by motion of the head, RAS mm.
    pub motions: Vec<AffineTransform>,
    /// What the levels found, coarse to fine.
    pub levels: Vec<LevelOutcome>,
}

/// What one level of the estimation found.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LevelOutcome {
    /// Number of voxels of the level's grid along each axis.
    pub shape: [usize; 3],
    /// Number of Gauss-Newton steps.
    pub steps: usize,
    /// Correlation of the mean corrected images of both directions, as they are on this level.
    pub correlation: f64,
}

/// Smallest number of voxels of an image along each axis.
const LEAST_VOXELS: usize = 4;
/// Number of times that displacement and motion are found in turn on a level.
const PASSES: usize = 6;
/// Levels with larger voxels than this find no motion, mm in a human head. There the penalty on the gradient of the
/// displacement is strong, and a rotation, which costs nothing, would take the place of a displacement.
const FIRST_MOTION_MM: f64 = 2.5;
/// Motion is not found again on a level if it changed by less than this share of the level's smallest spacing.
const SAME_MOTION: f64 = 0.01;
/// Standard deviation of the smoothing, as a share of the level's spacing.
const SMOOTHING: f64 = 0.7;

/// Estimates the displacement along the voxel axis `axis` (0 to 2) from images on one grid. `tell` is called after each
/// level.
///
/// # Errors
/// Images of one direction only; images of the same direction with different readout times; images of different shapes,
/// with too few voxels or without signal.
pub fn estimate(
    images: &[Encoded],
    axis: usize,
    options: &Options,
    tell: &mut dyn FnMut(&LevelOutcome),
) -> Result<Estimate, Error> {
    let scales = check(images)?;
    let first = images[0].volume;
    let darkest = first.range().map_or(0.0, |(darkest, _)| darkest);
    let unit = Unit::of_extent(unit::extent_mm(&first.grid, &first.voxels, darkest)).mm();
    let mut motions = vec![AffineTransform::identity(); images.len()];
    let mut found: Option<(Lines, Vec<f64>)> = None;
    let mut levels = Vec::with_capacity(options.levels.len());
    for level in &options.levels {
        let level = Level { spacing_mm: level.spacing_mm * unit, ..*level };
        let grid = level_grid(&first.grid, level.spacing_mm);
        let lines = Lines::of(&grid, axis);
        let mut displacement = match &found {
            Some((coarse, values)) => lines.resized(coarse, values),
            None => vec![0.0; lines.faces() * lines.count()],
        };
        let smooth =
            images.iter().map(|image| smoothed(image.volume, level.spacing_mm)).collect::<Result<Vec<_>, _>>()?;
        let on_level = OnLevel { images, smooth: &smooth, grid: &grid, lines: &lines, scales };
        let mut steps = 0;
        for pass in 1..=PASSES {
            let moved = on_level.resampled(&motions)?;
            let pair = on_level.pair(&moved);
            steps += descend(&pair, &mut displacement, level.smoothness, options);
            if !options.motion
                || level.spacing_mm > FIRST_MOTION_MM * unit
                || pass == PASSES
                || !on_level.find_motions(&moved, &displacement, &mut motions)
            {
                let corrected = [0, 1].map(|direction| pair.corrected(direction, &displacement));
                levels.push(LevelOutcome { shape: grid.shape, steps, correlation: correlation(&corrected) });
                break;
            }
        }
        levels.last().into_iter().for_each(&mut *tell);
        found = Some((lines, displacement));
    }
    let lines = Lines::of(&first.grid, axis);
    let faces = match &found {
        Some((coarse, values)) => lines.resized(coarse, values),
        None => vec![0.0; lines.faces() * lines.count()],
    };
    Ok(Estimate { field: Field::new(first.grid.clone(), lines, faces), motions, levels })
}

/// Checks the images. Returns the scales of the two directions: that of the first image, and the opposite one.
fn check(images: &[Encoded]) -> Result<[f64; 2], Error> {
    let Some(first) = images.first() else { return Err(Error::OneDirection) };
    let expected = first.volume.grid.shape;
    if expected.iter().any(|count| *count < LEAST_VOXELS) {
        return Err(Error::Thin { found: expected, least: LEAST_VOXELS });
    }
    for (n, image) in images.iter().enumerate() {
        let found = image.volume.grid.shape;
        if found != expected {
            return Err(Error::Shape { index: n + 1, found, expected });
        }
        if image.volume.voxels.iter().map(|value| f64::from(*value)).sum::<f64>() <= 0.0 {
            return Err(Error::Dark(n + 1));
        }
    }
    let same = |scale: f64| scale * first.scale > 0.0;
    let opposite = images.iter().map(|image| image.scale).find(|scale| !same(*scale)).ok_or(Error::OneDirection)?;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs();
    match images.iter().all(|image| near(image.scale, if same(image.scale) { first.scale } else { opposite })) {
        true => Ok([first.scale, opposite]),
        false => Err(Error::ReadoutTimes),
    }
}

/// The grid of a level: the box of `grid` in voxels of at least `spacing_mm`.
fn level_grid(grid: &Grid, spacing_mm: f64) -> Grid {
    let shape: [usize; 3] = std::array::from_fn(|axis| {
        let length = grid.shape[axis] as f64 * grid.spacing[axis];
        ((length / spacing_mm).ceil() as usize).clamp(LEAST_VOXELS, grid.shape[axis])
    });
    let spacing = Vector3::from_fn(|axis, _| grid.shape[axis] as f64 * grid.spacing[axis] / shape[axis] as f64);
    let origin = grid.origin + grid.direction * (spacing - grid.spacing) * 0.5;
    Grid { shape, spacing, origin, direction: grid.direction }
}

/// An image, smoothed for a level.
fn smoothed(volume: &Volume, spacing_mm: f64) -> Result<<Cpu as Memory>::Image, Error> {
    let image = Cpu.upload(volume.grid.shape, &volume.voxels)?;
    let sigma =
        |axis: usize| (SMOOTHING * spacing_mm / volume.grid.spacing[axis]).min(volume.grid.shape[axis] as f64);
    Ok(Cpu.smooth(&image, std::array::from_fn(sigma))?)
}

/// The smoothed images on one level.
struct OnLevel<'a> {
    images: &'a [Encoded<'a>],
    smooth: &'a [<Cpu as Memory>::Image],
    grid: &'a Grid,
    lines: &'a Lines,
    /// Scale of the displacement in the images of each direction.
    scales: [f64; 2],
}

impl OnLevel<'_> {
    /// The direction of an image: 0 for that of the first image, 1 for the opposite one.
    fn direction(&self, image: usize) -> usize {
        usize::from(self.images[image].scale * self.scales[0] < 0.0)
    }

    /// The images on the grid of the level, each moved back. Their intensities are divided by a common mean, and those
    /// of each image by its part of the total signal, which distortion does not change.
    fn resampled(&self, motions: &[AffineTransform]) -> Result<Vec<Vec<f32>>, Error> {
        let mut all = Vec::with_capacity(self.smooth.len());
        for (n, image) in self.smooth.iter().enumerate() {
            let to_image = self.images[n].volume.grid.world_to_voxel();
            let map = to_image.after(&motions[n]).after(&self.grid.voxel_to_world());
            let mut out = Cpu.image(self.grid.shape)?;
            Cpu.resample(image, &map, 0.0, &mut out)?;
            all.push(Cpu.download(&out)?);
        }
        let sum = |image: &[f32]| image.iter().map(|value| f64::from(*value)).sum::<f64>();
        let squares = |image: &[f32]| image.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
        let total = sum(&all[0]);
        let mean = squares(&all[0]) / total;
        for image in &mut all {
            let factor = (total / sum(image) / mean) as f32;
            image.iter_mut().for_each(|value| *value *= factor);
        }
        Ok(all)
    }

    /// The mean images of both directions.
    fn pair(&self, moved: &[Vec<f32>]) -> Pair<'_> {
        let profile = |direction: usize| {
            let of: Vec<&Vec<f32>> = moved
                .iter()
                .enumerate()
                .filter(|(n, _)| self.direction(*n) == direction)
                .map(|(_, image)| image)
                .collect();
            let mut mean = vec![0.0; self.lines.cells * self.lines.count()];
            for image in &of {
                let gathered = self.lines.gather(image);
                mean.iter_mut().zip(&gathered).for_each(|(mean, value)| *mean += value / of.len() as f64);
            }
            Profile::new(self.lines, &mean)
        };
        Pair { lines: self.lines, profiles: [profile(0), profile(1)], scales: self.scales }
    }

    /// Changes the motions so that the corrected images fit the corrected first image. Returns whether the
    /// displacement must be found again.
    fn find_motions(&self, moved: &[Vec<f32>], displacement: &[f64], motions: &mut [AffineTransform]) -> bool {
        let corrected = |n: usize| {
            let profile = Profile::new(self.lines, &self.lines.gather(&moved[n]));
            let factor = self.scales[self.direction(n)] / self.lines.size_mm[0];
            self.lines.scatter(&profile.corrected(self.lines, |face| factor * displacement[face]))
        };
        let still = corrected(0);
        let mut farthest: f64 = 0.0;
        for n in 1..moved.len() {
            let opposite = self.direction(n) == 1;
            let change = motion::between(self.grid, &still, &corrected(n), self.lines.axis, opposite);
            if let Some(change) = change {
                motions[n] = motions[n].after(&change);
                farthest = farthest.max(motion::size_mm(self.grid, &change));
            }
        }
        farthest > SAME_MOTION * self.grid.spacing.min()
    }
}

/// Pearson's correlation of two images.
fn correlation([a, b]: &[Vec<f64>; 2]) -> f64 {
    let mean = |image: &[f64]| image.iter().sum::<f64>() / image.len().max(1) as f64;
    let (a_mean, b_mean) = (mean(a), mean(b));
    let mut sums = [0.0; 3];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - a_mean, b - b_mean);
        [a * a, a * b, b * b].iter().zip(&mut sums).for_each(|(value, sum)| *sum += value);
    }
    sums[1] / (sums[0] * sums[2]).sqrt()
}
