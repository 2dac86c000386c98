//! The inner loop of the correlation ratio: the rows of one slab under one transform, sampled and accumulated.

use std::ops::Range;

use antsreg_core::AffineTransform;
use nalgebra::Vector3;

use crate::cpu::backdrop::Backdrop;
use crate::cpu::cells::{Cells, LANES};
use crate::cpu::image::Image;
use crate::cpu::rows::Row;
use crate::cpu::similarity::bin_fixed::FixedBins;

/// The sums Σw, Σwy and Σwy² of a bin, over samples with weight w and moving value y.
pub(in crate::cpu) type Moments = [f64; 3];

/// The input of one parallel task of the correlation ratio (the fixed bins, the moving image and its weights), and the
/// sums for each bin that the task computes.
pub(in crate::cpu) struct Piece<'a> {
    fixed: &'a FixedBins,
    moving: &'a Image,
    moving_weight: Option<&'a Image>,
    edge_voxels: [f64; 3],
    backdrop: &'a Backdrop,
    /// For each bin of the fixed image, sums over its samples. Each sum is divided into two parts, used alternately, so
    /// that successive samples of one bin need not wait for each other's store.
    table: Vec<[[f64; 4]; 2]>,
    scratch: Scratch,
}

/// Buffers for the moving values and the weights of one block of samples.
struct Scratch {
    cells: Cells,
    values: [[f32; LANES]; Cells::GROUPS],
    weights: [[f32; LANES]; Cells::GROUPS],
    moments: [[f32; 4]; Cells::BLOCK],
}

impl Scratch {
    fn new() -> Scratch {
        let zeros = [[0.0; LANES]; Cells::GROUPS];
        Scratch { cells: Cells::new(), values: zeros, weights: zeros, moments: [[0.0; 4]; Cells::BLOCK] }
    }
}

impl<'a> Piece<'a> {
    pub fn new(
        fixed: &'a FixedBins,
        moving: &'a Image,
        moving_weight: Option<&'a Image>,
        edge_voxels: [f64; 3],
        backdrop: &'a Backdrop,
    ) -> Self {
        let table = vec![[[0.0; 4]; 2]; fixed.bins];
        Piece { fixed, moving, moving_weight, edge_voxels, backdrop, table, scratch: Scratch::new() }
    }

    /// Computes the moments of each bin over the fixed voxels of these slices, under one transform.
    pub fn moments(&mut self, slices: Range<usize>, fixed_to_moving: &AffineTransform) -> Vec<Moments> {
        self.table.fill([[0.0; 4]; 2]);
        let finite = fixed_to_moving.matrix.iter().chain(&fixed_to_moving.translation).all(|v| v.is_finite());
        // The weight of a point is 0 at the border of the moving volume. If the volume has an axis of one voxel, every
        // point is at the border.
        if finite && self.moving.shape.iter().all(|n| *n >= 2) {
            crate::cpu::widest(
                #[inline(always)]
                || self.accumulate(slices, fixed_to_moving),
            );
        }
        self.table.iter().map(|[even, odd]| std::array::from_fn(|moment| even[moment] + odd[moment])).collect()
    }

    #[inline(always)]
    fn accumulate(&mut self, slices: Range<usize>, fixed_to_moving: &AffineTransform) {
        let [nx, ny, _] = self.fixed.shape;
        let plain = self.fixed.weight.is_none() && self.moving_weight.is_none();
        let step = fixed_to_moving.matrix.column(0).into_owned();
        for k in slices {
            for j in 0..ny {
                let number = k * ny + j;
                let within = match &self.fixed.extents {
                    Some(extents) => extents[number][0] as usize..extents[number][1] as usize,
                    None => 0..nx,
                };
                let start = fixed_to_moving.matrix * Vector3::new(0.0, j as f64, k as f64);
                let row = Row { start: start + fixed_to_moving.translation, step };
                let outer = row.inside(self.moving.shape, [0.0; 3], within);
                let inner = row.inside(self.moving.shape, self.edge_voxels, outer.clone());
                if inner.is_empty() || !plain {
                    self.segment::<true>(number, &row, outer);
                } else {
                    self.segment::<true>(number, &row, outer.start..inner.start);
                    self.inner(number, &row, inner.clone());
                    self.segment::<true>(number, &row, inner.end..outer.end);
                }
            }
        }
    }

    /// Accumulates the part of a row whose samples have weight 1. In the backdrop of the moving image, where all voxels
    /// have one value, successive samples of one fixed bin are counted together.
    #[inline(always)]
    fn inner(&mut self, number: usize, row: &Row, range: Range<usize>) {
        let mut pending = range.start;
        let bins = &self.fixed.bin[number * self.fixed.shape[0]..];
        let value = f64::from(self.backdrop.value);
        for first in range.clone().step_by(LANES) {
            let part = first..range.end.min(first + LANES);
            let bin = bins[first];
            let differ = bins[part.clone()].iter().fold(0, |differ, other| differ | (bin ^ other));
            if differ == 0 && self.backdrop.covers(row, &part) {
                self.segment::<false>(number, row, pending..first);
                pending = part.end;
                let count = part.len() as f64;
                let sum = &mut self.table[usize::from(bin)][0];
                for (moment, add) in [1.0, value, value * value].into_iter().enumerate() {
                    sum[moment] += count * add;
                }
            }
        }
        self.segment::<false>(number, row, pending..range.end);
    }

    /// Adds a part of a row of samples (moving values at mapped fixed voxels) to the moments of their bins. Without
    /// `WEIGHTED` every sample has weight 1.
    #[inline(always)]
    fn segment<const WEIGHTED: bool>(&mut self, number: usize, row: &Row, range: Range<usize>) {
        let base = number * self.fixed.shape[0];
        let Scratch { cells, values, weights, moments } = &mut self.scratch;
        for first in range.clone().step_by(Cells::BLOCK) {
            let count = (range.end - first).min(Cells::BLOCK);
            cells.locate::<WEIGHTED>(row, first, count, self.moving.shape, self.edge_voxels);
            cells.interpolate(self.moving.shape, &self.moving.voxels, count, values);
            if WEIGHTED {
                *weights = cells.edge_weight;
                if let Some(moving_weight) = self.moving_weight {
                    let mut sampled = [[0.0f32; LANES]; Cells::GROUPS];
                    cells.interpolate(moving_weight.shape, &moving_weight.voxels, count, &mut sampled);
                    let sampled = sampled.as_flattened();
                    weights.as_flattened_mut().iter_mut().zip(sampled).for_each(|(weight, other)| *weight *= other);
                }
                if let Some(fixed_weight) = &self.fixed.weight {
                    let own = &fixed_weight[base + first..base + first + count];
                    weights.as_flattened_mut().iter_mut().zip(own).for_each(|(weight, own)| *weight *= own);
                }
            }
            let samples = values.as_flattened().iter().zip(weights.as_flattened());
            for (moment, (value, weight)) in moments.iter_mut().zip(samples) {
                let (weight, weighted) = if WEIGHTED { (*weight, weight * value) } else { (1.0, *value) };
                *moment = [weight, weighted, weighted * value, 0.0];
            }
            let bins = &self.fixed.bin[base + first..base + first + count];
            let (moments, bins) = (moments[..count].as_chunks::<2>(), bins.as_chunks::<2>());
            for (moments, bins) in moments.0.iter().zip(bins.0) {
                for turn in 0..2 {
                    add(&mut self.table[usize::from(bins[turn])][turn], &moments[turn]);
                }
            }
            for (moments, bin) in moments.1.iter().zip(bins.1) {
                add(&mut self.table[usize::from(*bin)][0], moments);
            }
        }
    }
}

#[inline(always)]
fn add(sum: &mut [f64; 4], moments: &[f32; 4]) {
    // All numbers are read before any is written, so that four are added at once.
    let (before, moments) = (*sum, *moments);
    *sum = std::array::from_fn(|moment| before[moment] + f64::from(moments[moment]));
}
