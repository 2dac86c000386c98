//! The edge of a brain moved to where intensities change.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use antsreg_kernels::{Backend, Cpu};

use super::Error;
use super::distance::{distance_mm, signed_distance_mm};
use super::regions::{fill_holes, keep_largest};

/// How far the edge may move, mm.
const BAND_MM: f32 = 6.0;
/// How far the registration's edge is off, as a standard deviation, mm: of images that are alike, and of those that are not.
const EDGE_MM: [f32; 2] = [0.5, 2.0];
/// What the correlation lacks to 1 where images are not alike.
const UNLIKE: f64 = 0.1;
/// How far the edge of a brain lies outside the registration's, mm: the fluid at its surface is thinner in a mean of heads.
const OUTWARD_MM: f32 = 0.7;
/// What says how bright brain is: voxels so deep inside the edge, mm.
const INSIDE_MM: f32 = 3.0;
/// What says how bright the rest is: voxels so far outside, mm.
const OUTSIDE_MM: std::ops::RangeInclusive<f32> = 3.0..=12.0;
/// Bins of intensities.
const BINS: usize = 64;
/// Standard deviation of their smoothing, bins.
const BINS_SIGMA: f64 = 1.5;
/// Shares below this are not told from zero.
const LEAST_SHARE: f64 = 1e-4;
/// The most that one voxel's intensity says, as the logarithm of odds.
const MOST_ODDS: f64 = 2.0;
/// How much intensities count beside the registration.
const INTENSITY_WEIGHT: f32 = 1.0;
/// Standard deviation of the smoothing of what intensities say, mm.
const SMOOTH_MM: f64 = 1.5;
/// Bridges thinner than twice this are cut, mm.
const OPENING_MM: f32 = 2.0;
/// What is put back around what is left, mm, beside a voxel: corners are farther away than faces.
const BACK_MM: f32 = 2.5;

/// The most that a voxel outside the brain is given as its probability.
const BELOW_HALF: f32 = 0.49;

/// Whether each voxel is brain, and how probable that is, by the image and by a brain that was registered to it with this
/// correlation. The more alike the images are, the less the intensities move the edge.
pub fn refine(image: &Volume, registered: &[bool], correlation: f64) -> Result<(Vec<bool>, Vec<f32>), Error> {
    let unlike = ((1.0 - correlation) / UNLIKE).clamp(0.0, 1.0) as f32;
    let [least_mm, most_mm] = EDGE_MM;
    let edge_mm = least_mm + unlike * (most_mm - least_mm);
    let grid = &image.grid;
    let depth = signed_distance_mm(grid, registered);
    let odds = smooth(image, odds(image, &depth))?;
    // Twice the depth over the deviation: the logarithm of the odds of a logistic edge, nearly.
    let score: Vec<f32> = depth
        .iter()
        .zip(&odds)
        .map(|(mm, odds)| (mm + unlike * OUTWARD_MM) / edge_mm + INTENSITY_WEIGHT * odds)
        .collect();
    let inside: Vec<bool> =
        depth.iter().zip(&score).map(|(mm, score)| *mm > BAND_MM || (*mm >= -BAND_MM && *score > 0.0)).collect();
    let mut kept: Vec<bool> = signed_distance_mm(grid, &inside).into_iter().map(|mm| mm > OPENING_MM).collect();
    keep_largest(grid.shape, &mut kept);
    let near = distance_mm(grid, &kept);
    let back = BACK_MM + grid.spacing.min() as f32;
    let mut brain: Vec<bool> = near.into_iter().zip(&inside).map(|(mm, inside)| *inside && mm <= back).collect();
    fill_holes(grid.shape, &mut brain);
    let probability = |((score, mm), brain): ((&f32, &f32), &bool)| {
        let share = 1.0 / (1.0 + (-score).exp());
        // What the shape says goes before what a voxel says.
        match (mm.abs() > BAND_MM, brain) {
            (true, _) => f32::from(u8::from(*brain)),
            (false, true) => share.max(0.5),
            (false, false) => share.min(BELOW_HALF),
        }
    };
    let probabilities = score.iter().zip(&depth).zip(&brain).map(probability).collect();
    Ok((brain, probabilities))
}

/// What each voxel's intensity says: the logarithm of how much more frequent it is inside than outside.
fn odds(image: &Volume, depth: &[f32]) -> Vec<f32> {
    let around: Vec<f32> =
        image.voxels.iter().zip(depth).filter(|(_, mm)| **mm > -15.0).map(|(value, _)| *value).collect();
    let Some((low, high)) = quantiles(&around, 0.002, 0.998).filter(|(low, high)| low < high) else {
        return vec![0.0; depth.len()];
    };
    let bin = |value: f32| (((value - low) / (high - low) * BINS as f32).max(0.0) as usize).min(BINS - 1);
    let histogram = |counts: &dyn Fn(f32) -> bool| {
        let mut shares = vec![0.0; BINS];
        let counted = image.voxels.iter().zip(depth).filter(|(_, mm)| counts(**mm));
        counted.for_each(|(value, _)| shares[bin(*value)] += 1.0);
        let all = shares.iter().sum::<f64>().max(1.0);
        smoothed(&shares).into_iter().map(|share| share / all).collect::<Vec<f64>>()
    };
    let within = histogram(&|mm| mm > INSIDE_MM);
    let without = histogram(&|mm| OUTSIDE_MM.contains(&-mm));
    let table: Vec<f32> = within
        .iter()
        .zip(&without)
        .map(|(a, b)| ((a + LEAST_SHARE) / (b + LEAST_SHARE)).ln().clamp(-MOST_ODDS, MOST_ODDS) as f32)
        .collect();
    image.voxels.iter().map(|value| table[bin(*value)]).collect()
}

/// A histogram under a Gaussian; beyond its ends it continues with its last bins.
fn smoothed(shares: &[f64]) -> Vec<f64> {
    let weight = |n: i64| (-((n * n) as f64) / (2.0 * BINS_SIGMA * BINS_SIGMA)).exp();
    let reach = (4.0 * BINS_SIGMA) as i64;
    let all: f64 = (-reach..=reach).map(weight).sum();
    let last = shares.len() as i64 - 1;
    let at =
        |n: i64| (-reach..=reach).map(|d| weight(d) * shares[(n + d).clamp(0, last) as usize]).sum::<f64>() / all;
    (0..=last).map(at).collect()
}

/// A volume on the grid of an image, smoothed.
fn smooth(image: &Volume, voxels: Vec<f32>) -> Result<Vec<f32>, Error> {
    let sigma = [0, 1, 2].map(|axis| SMOOTH_MM / image.grid.spacing[axis]);
    let smoothed = || {
        let volume = Cpu.upload(image.grid.shape, &voxels)?;
        Cpu.download(&Cpu.smooth(&volume, sigma)?)
    };
    smoothed().map_err(Error::Kernels)
}
