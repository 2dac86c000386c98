//! Refines a brain mask: moves the edge of the registered brain to the place where the image's intensities change.

use antsreg_core::intensity::quantiles;
use antsreg_core::{Grid, Volume};
use antsreg_kernels::{self as kernels, Backend, DistanceLimits};
use antsreg_register::{Computation, Device};
use rayon::prelude::*;

use super::Error;
use super::ball::{dilated, eroded};
use antsreg_images::regions::{fill_holes, keep_largest};

/// Largest distance by which the refinement may move the brain's edge, mm.
const BAND_MM: f32 = 6.0;
/// Scale of the error of the registered edge (the edge of the template's brain after registration), in a logistic
/// model, mm: for images similar to the template, and for dissimilar images.
const EDGE_MM: [f32; 2] = [0.5, 2.0];
/// Difference between 1 and the correlation with the template, from which on an image is treated as dissimilar.
const UNLIKE: f64 = 0.1;
/// Mean distance by which the true edge of the brain lies outside the registered edge in images that are dissimilar to
/// the template, mm. The template is a mean of heads, and in a mean the fluid at the surface is thinner.
const OUTWARD_MM: f32 = 0.9;
/// Depth below the edge of the registered template's brain; deeper voxels define the histogram of brain intensities,
/// mm.
const INSIDE_MM: f32 = 3.0;
/// Distances outside the edge of the registered template's brain; voxels there define the histogram of the other
/// tissues' intensities, mm.
const OUTSIDE_MM: std::ops::RangeInclusive<f32> = 3.0..=AROUND_MM;
/// Distance outside the edge of the registered template's brain up to which voxels count for the histograms and for
/// their range of intensities, mm.
const AROUND_MM: f32 = 12.0;
/// Distance from the registered template's brain beyond which no voxel has an effect on the refinement, mm.
pub const REACH_MM: f64 = AROUND_MM as f64 + 1.0;
/// Distance between the rows of voxels from which the range of intensities is found, in rows.
const ROWS_APART: usize = 4;
/// Number of bins of the histograms of intensities inside and outside the brain.
const BINS: usize = 64;
/// Standard deviation of the Gaussian that smooths the histograms, in bins.
const BINS_SIGMA: f64 = 1.5;
/// Relative frequency that is added to each histogram bin, so that the ratio of two empty bins is 1.
const LEAST_SHARE: f64 = 1e-4;
/// Largest absolute value of the log-odds "brain or not" that the intensity of one voxel contributes.
const MOST_ODDS: f64 = 2.0;
/// The log-odds that a voxel is brain are those from its depth below the registered edge, plus this weight times those
/// from the intensities.
const INTENSITY_WEIGHT: f32 = 1.0;
/// Standard deviation of the Gaussian that smooths, over the image, the log-odds of brain that the intensities give,
/// mm.
const SMOOTH_MM: f64 = 1.5;
/// Radius of the morphological opening of the mask, mm: bridges thinner than twice this radius are removed.
const OPENING_MM: f32 = 2.0;
/// After the opening, voxels of the mask are restored up to this distance plus one voxel from the remaining region, mm.
/// The distance is larger than the radius of the opening, because corners are farther away than faces.
const BACK_MM: f32 = 2.5;

/// Number of voxels that one task counts in the histograms.
const PIECE: usize = 1 << 16;
/// Largest brain probability that a voxel outside the final mask gets.
const BELOW_HALF: f32 = 0.49;

/// Decides for each voxel whether it is brain, and how probable that is, from the image and the signed distances of its
/// voxels to the border of the registered brain, within [`distance_limits`]. The higher the correlation of the
/// registration, the less the intensities move the edge. The handle of the device is
/// dropped on another thread after the last computation on the device, because the driver takes a while to release the
/// device.
pub fn refine(
    image: &Volume,
    distance_mm: Vec<f32>,
    correlation: f64,
    device: Device,
) -> Result<(Vec<bool>, Vec<f32>), Error> {
    let unlike = ((1.0 - correlation) / UNLIKE).clamp(0.0, 1.0) as f32;
    let grid = &image.grid;
    // The depth below the brain's edge, which lies halfway between the centres of voxels on both sides.
    let (mut depth, half) = (distance_mm, grid.spacing.min() as f32 / 2.0);
    depth.par_iter_mut().for_each(|mm| *mm -= half.copysign(*mm));
    let sigma_voxels = [0, 1, 2].map(|axis| SMOOTH_MM / grid.spacing[axis]);
    let odds = device.run(Smooth { shape: grid.shape, voxels: &odds(image, &depth), sigma_voxels })?;
    let (refined, ()) = rayon::join(|| decide(grid, &depth, odds, unlike), || drop(device));
    free_later(depth);
    Ok(refined)
}

/// Decides for each voxel whether it is brain, and how probable that is, from its depth below the registered edge, mm,
/// and from the log-odds of its intensity. `unlike` says how dissimilar image and template are, 0 to 1.
fn decide(grid: &Grid, depth: &[f32], odds: Vec<f32>, unlike: f32) -> (Vec<bool>, Vec<f32>) {
    let [least_mm, most_mm] = EDGE_MM;
    let edge_mm = least_mm + unlike * (most_mm - least_mm);
    // The position of the edge has a logistic error with the scale `edge_mm`: depth divided by scale is the log-odds.
    let mut score = odds;
    score.par_iter_mut().zip(depth).for_each(|(odds, mm)| {
        *odds = (mm + unlike * OUTWARD_MM) / edge_mm + INTENSITY_WEIGHT * *odds;
    });
    let is_inside = |(mm, score): (&f32, &f32)| *mm > BAND_MM || (*mm >= -BAND_MM && *score > 0.0);
    let inside: Vec<bool> = depth.par_iter().zip(&score).map(is_inside).collect();
    let mut brain = opened(grid, &inside);
    fill_holes(grid.shape, &mut brain);
    score.par_iter_mut().zip(depth).zip(&brain).for_each(|((score, mm), brain)| {
        // The mask takes precedence over the log-odds of a single voxel: the probability is at least 0.5 inside the
        // mask, and below 0.5 outside.
        *score = match (mm.abs() > BAND_MM, brain) {
            (true, _) => f32::from(u8::from(*brain)),
            (false, true) => share(*score).max(0.5),
            (false, false) => share(*score).min(BELOW_HALF),
        }
    });
    (brain, score)
}

/// Converts log-odds to a probability.
fn share(odds: f32) -> f32 {
    1.0 / (1.0 + (-odds).exp())
}

/// The range of the distances between centres of voxels that [`refine`] uses.
pub fn distance_limits(grid: &Grid) -> DistanceLimits {
    let voxel = grid.spacing.min() as f32;
    DistanceLimits { inside_mm: BAND_MM + voxel, outside_mm: AROUND_MM + voxel }
}

/// Morphological opening of a set of voxels: returns the largest region that remains after thin bridges are removed,
/// with the voxels of the set near this region.
fn opened(grid: &Grid, set: &[bool]) -> Vec<bool> {
    let voxel = grid.spacing.min() as f32;
    let mut kept = eroded(grid, set, OPENING_MM + voxel / 2.0);
    keep_largest(grid.shape, &mut kept);
    let mut opened = dilated(grid, &kept, BACK_MM + voxel);
    opened.par_iter_mut().zip(set).for_each(|(near, inside)| *near &= inside);
    opened
}

/// Returns the log-odds that each voxel is brain, from its intensity alone: the logarithm of the intensity's frequency
/// inside the brain divided by its frequency outside.
fn odds(image: &Volume, depth: &[f32]) -> Vec<f32> {
    // Voxels that lie farther outside the registered brain than `AROUND_MM` get NaN, so that the quantiles of the
    // intensities leave them out.
    let nx = image.grid.shape[0];
    let near = |n: usize| {
        let voxel = n / nx * ROWS_APART * nx + n % nx;
        if depth[voxel] > -AROUND_MM { image.voxels[voxel] } else { f32::NAN }
    };
    let rows = (depth.len() / nx).div_ceil(ROWS_APART);
    let around: Vec<f32> = (0..rows * nx).into_par_iter().map(near).collect();
    let Some((low, high)) = quantiles(&around, 0.002, 0.998).filter(|(low, high)| low < high) else {
        return vec![0.0; depth.len()];
    };
    let bin = |value: f32| (((value - low) / (high - low) * BINS as f32).max(0.0) as usize).min(BINS - 1);
    // Histograms of voxels inside and outside the brain. The counts are integers, so the order of addition does not
    // matter.
    let count = |(values, depth): (&[f32], &[f32])| {
        let mut counts = [[0_u64; BINS]; 2];
        for (value, mm) in values.iter().zip(depth) {
            if *mm > INSIDE_MM {
                counts[0][bin(*value)] += 1;
            } else if OUTSIDE_MM.contains(&-mm) {
                counts[1][bin(*value)] += 1;
            }
        }
        counts
    };
    let add = |mut a: [[u64; BINS]; 2], b: [[u64; BINS]; 2]| {
        a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += b);
        a
    };
    let pieces = image.voxels.par_chunks(PIECE).zip(depth.par_chunks(PIECE));
    let counts = pieces.map(count).reduce(|| [[0; BINS]; 2], add);
    let [within, without] = counts.map(|counts| {
        let shares = counts.map(|count| count as f64);
        let all = shares.iter().sum::<f64>().max(1.0);
        smoothed(&shares).into_iter().map(|share| share / all).collect::<Vec<f64>>()
    });
    let table: Vec<f32> = within
        .iter()
        .zip(&without)
        .map(|(a, b)| ((a + LEAST_SHARE) / (b + LEAST_SHARE)).ln().clamp(-MOST_ODDS, MOST_ODDS) as f32)
        .collect();
    image.voxels.par_iter().map(|value| table[bin(*value)]).collect()
}

/// Smooths a histogram by a Gaussian; beyond its ends the histogram continues with its last bins.
fn smoothed(shares: &[f64]) -> Vec<f64> {
    let weight = |n: i64| (-((n * n) as f64) / (2.0 * BINS_SIGMA * BINS_SIGMA)).exp();
    let reach = (4.0 * BINS_SIGMA) as i64;
    let all: f64 = (-reach..=reach).map(weight).sum();
    let last = shares.len() as i64 - 1;
    let at =
        |n: i64| (-reach..=reach).map(|d| weight(d) * shares[(n + d).clamp(0, last) as usize]).sum::<f64>() / all;
    (0..=last).map(at).collect()
}

/// A task for a device: smooths a volume by a Gaussian.
struct Smooth<'a> {
    shape: [usize; 3],
    voxels: &'a [f32],
    sigma_voxels: [f64; 3],
}

impl Computation for Smooth<'_> {
    type Output = Vec<f32>;
    type Error = kernels::Error;

    fn run<B: Backend>(self, backend: &B) -> Result<Vec<f32>, kernels::Error> {
        let volume = backend.upload(self.shape, self.voxels)?;
        backend.download(&backend.smooth(&volume, self.sigma_voxels)?)
    }
}

/// Frees memory on another thread. The system takes milliseconds to free large volumes.
pub(super) fn free_later(memory: impl Send + 'static) {
    rayon::spawn(move || drop(memory));
}
