//! Moments of pairs of fixed and moving values, for normalised correlation and least squares.
//!
//! The work is divided into pieces (slab × transform) whose size depends on the volume only; the pieces are added in
//! order.

use std::ops::Range;

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use crate::cpu::image::Image;
use crate::cpu::similarity::bin_fixed::extent;
use crate::cpu::similarity::samples::{Operands, Samples};
use crate::cpu::similarity::slices::Slices;
use crate::cpu::similarity::slices::slab_slices;
use crate::operands::range_scale;
use crate::{Error, Moments};

/// Computes the moments of fixed and moving values under each transform, as defined by
/// [`Similarity::moments`](crate::ops::Similarity::moments).
pub(in crate::cpu) fn moments(
    fixed: &Image,
    moving: &Image,
    weights: [Option<&Image>; 2],
    low_high: [(f32, f32); 2],
    edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<Moments>, Error> {
    for (image, weight) in [fixed, moving].into_iter().zip(weights) {
        Error::check_shapes("moments", image.shape, weight.map(|weight| weight.shape))?;
    }
    let [fixed_weight, moving_weight] = weights;
    if let Some(Slices { moving, weight, maps }) =
        Slices::of(fixed.shape, moving, moving_weight, edge_voxels, fixed_to_moving)
    {
        return moments(fixed, &moving, [fixed_weight, weight.as_ref()], low_high, edge_voxels, &maps);
    }
    let extents: Option<Vec<[u32; 2]>> =
        fixed_weight.map(|weight| weight.voxels.chunks_exact(fixed.shape[0]).map(extent).collect());
    let count = fixed_to_moving.len();
    let backdrop = moving.backdrop();
    let operands = Operands {
        shape: fixed.shape,
        fixed_weight: fixed_weight.map(|weight| &*weight.voxels),
        extents: extents.as_deref(),
        moving,
        moving_weight,
        edge_voxels,
        backdrop: &backdrop,
    };
    let slab_slices = slab_slices(fixed.shape);
    let slabs = fixed.shape[2].div_ceil(slab_slices);
    let pieces: Vec<[f64; 6]> = (0..slabs * count)
        .into_par_iter()
        .map(|task| {
            let (slab, transform) = (task / count, task % count);
            let slices = slab * slab_slices..((slab + 1) * slab_slices).min(fixed.shape[2]);
            piece(fixed, operands, low_high, slices, &fixed_to_moving[transform])
        })
        .collect();
    Ok((0..count)
        .map(|transform| {
            let mut sums = [0.0; 6];
            for slab in 0..slabs {
                let piece = &pieces[slab * count + transform];
                sums.iter_mut().zip(piece).for_each(|(sum, part)| *sum += part);
            }
            let [weight, fixed, moving, fixed_fixed, moving_moving, fixed_moving] = sums;
            Moments { weight, fixed, moving, fixed_fixed, moving_moving, fixed_moving }
        })
        .collect())
}

fn piece(
    fixed: &Image,
    operands: Operands,
    [fixed_range, moving_range]: [(f32, f32); 2],
    slices: Range<usize>,
    fixed_to_moving: &AffineTransform,
) -> [f64; 6] {
    let scales = [range_scale(fixed_range), range_scale(moving_range)];
    let mut sums = [0.0; 6];
    let mut samples = Samples::new(operands);
    crate::cpu::widest(
        #[inline(always)]
        || {
            samples.visit::<true>(slices, fixed_to_moving, |block| {
                let own = &fixed.voxels[block.first..block.first + block.count];
                let moving = block.values.as_flattened().iter().zip(block.weights.as_flattened());
                // Samples are summed block by block. A block is so short that single precision is exact enough for its
                // sums.
                let mut block_sums = [0.0f32; 6];
                for (fixed, (moving, weight)) in own.iter().zip(moving) {
                    let (x, y) = ((fixed - fixed_range.0) * scales[0], (moving - moving_range.0) * scales[1]);
                    let (wx, wy) = (weight * x, weight * y);
                    let terms = [*weight, wx, wy, wx * x, wy * y, wx * y];
                    block_sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
                sums.iter_mut().zip(block_sums).for_each(|(sum, part)| *sum += f64::from(part));
            });
        },
    );
    sums
}
