//! Joint histograms of fixed bins and moving values, and their entropies.
//!
//! Weights are integers, so sums do not depend on the division of the work: each thread fills its own histogram, and
//! these are added.

use std::ops::Range;

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use crate::cpu::backdrop::Backdrop;
use crate::cpu::cells::{Cells, LANES};
use crate::cpu::image::Image;
use crate::cpu::similarity::bin_fixed::FixedBins;
use crate::cpu::similarity::samples::{Block, Operands, Samples};
use crate::cpu::similarity::slices::Slices;
use crate::cpu::similarity::slices::slab_slices;
use crate::cpu::whole::whole;
use crate::{Entropies, Error, JointParameters, JointSampling};

/// Number of tasks for each thread. Tasks take unequal times, because parts of the volume may be background.
const TASKS_PER_THREAD: usize = 4;

/// Computes the joint histogram of one transform, as defined by [`Cpu::joint_histogram`](crate::Cpu::joint_histogram).
pub(in crate::cpu) fn joint_histogram(
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    parameters: &JointParameters,
    fixed_to_moving: &AffineTransform,
) -> Result<Vec<u64>, Error> {
    let maps = std::slice::from_ref(fixed_to_moving);
    if let Some(Slices { moving, weight, maps }) = Slices::of(fixed.shape, moving, moving_weight, edge_voxels, maps) {
        return joint_histogram(fixed, &moving, weight.as_ref(), edge_voxels, parameters, &maps[0]);
    }
    let backdrop = moving.backdrop();
    let joint = Joint::new(fixed, moving, moving_weight, edge_voxels, parameters, &backdrop)?;
    Ok(joint.histogram(fixed_to_moving, rayon::current_num_threads()))
}

/// Computes the entropies of the joint histogram of each transform, as defined by
/// [`Similarity::joint_entropies`](crate::ops::Similarity::joint_entropies).
pub(in crate::cpu) fn joint_entropies(
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    parameters: &JointParameters,
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<Entropies>, Error> {
    if let Some(Slices { moving, weight, maps }) =
        Slices::of(fixed.shape, moving, moving_weight, edge_voxels, fixed_to_moving)
    {
        return joint_entropies(fixed, &moving, weight.as_ref(), edge_voxels, parameters, &maps);
    }
    let backdrop = moving.backdrop();
    let joint = Joint::new(fixed, moving, moving_weight, edge_voxels, parameters, &backdrop)?;
    let pieces = (TASKS_PER_THREAD * rayon::current_num_threads()).div_ceil(fixed_to_moving.len().max(1));
    Ok(fixed_to_moving
        .par_iter()
        .map(|transform| of_counts(&joint.histogram(transform, pieces), parameters.bins))
        .collect())
}

/// Entropies of a joint histogram, whose counters are given row by row, with `moving_bins` counters in each row.
fn of_counts(counts: &[u64], moving_bins: usize) -> Entropies {
    let mut moving = vec![0; moving_bins];
    let (mut total, mut fixed_sum, mut joint_sum) = (0, 0.0, 0.0);
    for row in counts.chunks_exact(moving_bins) {
        moving.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        let weight = row.iter().sum::<u64>();
        total += weight;
        fixed_sum += term(weight);
        joint_sum += row.iter().map(|count| term(*count)).sum::<f64>();
    }
    let moving_sum: f64 = moving.into_iter().map(term).sum();
    let units = total as f64;
    // Entropy from the counts n of the bins and their sum N: with the probabilities p = n/N, −Σ p·ln p is ln N − Σ n·ln
    // n / N. Of an empty histogram this is NaN, which `max` replaces by 0.
    let entropy = |sum: f64| (units.ln() - sum / units).max(0.0);
    Entropies {
        weight: units / f64::from(JointParameters::UNIT),
        fixed: entropy(fixed_sum),
        moving: entropy(moving_sum),
        joint: entropy(joint_sum),
    }
}

/// The term n·ln n of an entropy; 0 for n = 0.
fn term(count: u64) -> f64 {
    let count = count as f64;
    if count > 0.0 { count * count.ln() } else { 0.0 }
}

/// What the joint histograms of all transforms share: the images, their weights and their bins.
struct Joint<'a> {
    fixed: &'a FixedBins,
    operands: Operands<'a>,
    sampling: JointSampling,
    bins: usize,
    low: f32,
    /// Factor in the position of a moving value on the axis of histogram bins, (value − `low`)·`scale`.
    scale: f32,
}

impl<'a> Joint<'a> {
    fn new(
        fixed: &'a FixedBins,
        moving: &'a Image,
        moving_weight: Option<&'a Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        backdrop: &'a Backdrop,
    ) -> Result<Self, Error> {
        Error::check_shapes("joint_histogram", moving.shape, moving_weight.map(|weight| weight.shape))?;
        let JointParameters { sampling, bins, low_high: (low, _) } = *parameters;
        Error::check_joint_bins(fixed.bins, bins)?;
        let operands = Operands {
            shape: fixed.shape,
            fixed_weight: fixed.weight.as_deref(),
            extents: fixed.extents.as_deref(),
            moving,
            moving_weight,
            edge_voxels,
            backdrop,
        };
        Ok(Joint { fixed, operands, sampling, bins, low, scale: parameters.scale() })
    }

    /// Computes the joint histogram of one transform. The volume is divided into at most `pieces` parts (groups of
    /// slices), which are processed in parallel. Most parts have many more voxels than a histogram has counters, because
    /// the histograms of all parts are added at the end.
    fn histogram(&self, fixed_to_moving: &AffineTransform, pieces: usize) -> Vec<u64> {
        let nz = self.fixed.shape[2];
        let slices = nz.div_ceil(pieces.max(1)).max(slab_slices(self.fixed.shape));
        (0..nz.div_ceil(slices))
            .into_par_iter()
            .map(|piece| self.piece(piece * slices..((piece + 1) * slices).min(nz), fixed_to_moving))
            .reduce_with(|mut sum, other| {
                sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
                sum
            })
            .unwrap_or_else(|| vec![0; self.fixed.bins * self.bins])
    }

    /// The joint histogram of the fixed voxels of some slices under one transform.
    fn piece(&self, slices: Range<usize>, fixed_to_moving: &AffineTransform) -> Vec<u64> {
        let mut counts = vec![0; self.fixed.bins * self.bins];
        let mut samples = Samples::new(self.operands);
        crate::cpu::widest(
            #[inline(always)]
            || match self.sampling {
                JointSampling::Trilinear => samples.visit::<true>(
                    slices,
                    fixed_to_moving,
                    #[inline(always)]
                    |block| self.share(block, &mut counts),
                ),
                JointSampling::PartialVolume => samples.visit::<false>(
                    slices,
                    fixed_to_moving,
                    #[inline(always)]
                    |block| self.spread(block, &mut counts),
                ),
            },
        );
        counts
    }

    /// Adds a block of samples to the histogram; the weight of each sample is divided between the two bins nearest to
    /// its value.
    #[inline(always)]
    fn share(&self, block: &Block, counts: &mut [u64]) {
        let top = (self.bins - 1) as f32;
        // For each sample: its weight as an integer, the part of this weight that goes to the upper of the two nearest
        // bins, and the index of the lower bin.
        let mut shares = [[[0u32; LANES]; 3]; Cells::GROUPS];
        for (group, shares) in shares.iter_mut().enumerate().take(block.count.div_ceil(LANES)) {
            for lane in 0..LANES {
                let at = ((block.values[group][lane] - self.low) * self.scale).max(0.0).min(top);
                let bin = at.floor().min(top - 1.0);
                let whole_weight = units(block.weights[group][lane].min(1.0));
                shares[0][lane] = whole_weight;
                shares[1][lane] = units_of((at - bin) * whole_weight as f32);
                shares[2][lane] = whole(bin);
            }
        }
        let bins = &self.fixed.bin[block.first..block.first + block.count];
        for (number, fixed_bin) in bins.iter().enumerate() {
            let [all, upper, bin] = [0, 1, 2].map(|part| shares[number / LANES][part][number % LANES]);
            let at = usize::from(*fixed_bin) * self.bins + bin as usize;
            let pair = &mut counts[at..at + 2];
            pair[0] += u64::from(all - upper);
            pair[1] += u64::from(upper);
        }
    }

    /// Adds the values of the eight voxels around each sample of a block to the histogram, with their trilinear
    /// weights.
    #[inline(always)]
    fn spread(&self, block: &Block, counts: &mut [u64]) {
        for group in 0..block.count.div_ceil(LANES) {
            let first = group * LANES;
            let fixed_bins = &self.fixed.bin[block.first..][first..block.count.min(first + LANES)];
            let shares = corner_shares(block, group);
            if let Some(value) = block.backdrop {
                let bin = self.bin_of(value) as usize;
                for (lane, fixed_bin) in fixed_bins.iter().enumerate() {
                    let share = shares.iter().map(|of_corner| of_corner[lane]).sum::<u32>();
                    counts[usize::from(*fixed_bin) * self.bins + bin] += u64::from(share);
                }
                continue;
            }
            let bins = self.corner_bins(block, group);
            for (lane, fixed_bin) in fixed_bins.iter().enumerate() {
                if block.weights[group][lane] <= 0.0 {
                    continue;
                }
                let row = &mut counts[usize::from(*fixed_bin) * self.bins..][..self.bins];
                for (share, bin) in shares.iter().zip(&bins) {
                    row[bin[lane] as usize] += u64::from(share[lane]);
                }
            }
        }
    }

    /// The bins of the eight voxels around each sample of a group.
    #[inline(always)]
    fn corner_bins(&self, block: &Block, group: usize) -> [[u32; LANES]; 8] {
        let mut bins = [[0; LANES]; 8];
        for (corner, bins) in bins.iter_mut().enumerate() {
            for (bin, pair) in bins.iter_mut().zip(&block.cells.pairs[group][corner >> 1]) {
                *bin = self.bin_of(pair[corner & 1]);
            }
        }
        bins
    }

    /// The bin of a moving value that is not divided between two bins.
    #[inline(always)]
    fn bin_of(&self, value: f32) -> u32 {
        whole(((value - self.low) * self.scale).max(0.0).min((self.bins - 1) as f32).floor())
    }
}

/// The trilinear weights, as integers, of the eight voxels around each sample of a group.
#[inline(always)]
fn corner_shares(block: &Block, group: usize) -> [[u32; LANES]; 8] {
    let upper = block.cells.fraction.each_ref().map(|fraction| fraction[group]);
    let lower = upper.map(|upper| upper.map(|upper| 1.0 - upper));
    let mut shares = [[0; LANES]; 8];
    for (corner, shares) in shares.iter_mut().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|axis| if corner >> axis & 1 == 1 { &upper[axis] } else { &lower[axis] });
        for lane in 0..LANES {
            shares[lane] = units(block.weights[group][lane].min(1.0) * z[lane] * y[lane] * x[lane]);
        }
    }
    shares
}

/// Converts a weight from 0 to 1 to an integer, in units of 1/[`UNIT`](JointParameters::UNIT).
#[inline(always)]
fn units(weight: f32) -> u32 {
    units_of(weight * JointParameters::UNIT as f32)
}

/// Rounds a weight, in units of 1/`UNIT`, to the nearest integer.
#[inline(always)]
fn units_of(amount: f32) -> u32 {
    whole((amount + 0.5).floor())
}
