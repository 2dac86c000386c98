//! The correlation ratio of a batch of transforms: fixed voxels in bins, moving values accumulated for each bin.
//!
//! The work is divided into pieces (slab of slices × transform) whose size depends on the volume only, and the pieces
//! are added in order. So the result does not depend on the number of threads.

mod piece;

use antsreg_core::AffineTransform;
use rayon::prelude::*;

use crate::Error;
use crate::cpu::image::Image;
use crate::cpu::similarity::bin_fixed::FixedBins;
use crate::cpu::similarity::slices::{Slices, slab_slices};
use piece::{Moments, Piece};

/// A histogram bin of the fixed image with at most this total weight of samples does not count in the correlation
/// ratio, because the variance of so few samples has no meaning.
const LEAST_COUNT: f64 = 2.0;

/// Computes the correlation ratio cost of each transform, as defined by
/// [`Similarity::correlation_ratio`](crate::ops::Similarity::correlation_ratio).
pub(in crate::cpu) fn correlation_ratio(
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<f64>, Error> {
    Error::check_shapes("correlation_ratio", moving.shape, moving_weight.map(|weight| weight.shape))?;
    let slices = Slices::of(fixed.shape, moving, moving_weight, edge_voxels, fixed_to_moving);
    if let Some(Slices { moving, weight, maps }) = &slices {
        return correlation_ratio(fixed, moving, weight.as_ref(), edge_voxels, maps);
    }
    let slab_slices = slab_slices(fixed.shape);
    let slabs = fixed.shape[2].div_ceil(slab_slices);
    let count = fixed_to_moving.len();
    let backdrop = moving.backdrop();
    // The tasks (slab of slices × transform) are ordered by slab. So tasks that run at the same time read the same slab
    // and about the same part of the moving image, which are then in the cache.
    let pieces: Vec<Vec<Moments>> = (0..slabs * count)
        .into_par_iter()
        .map_init(
            || Piece::new(fixed, moving, moving_weight, edge_voxels, &backdrop),
            |piece, task| {
                let (slab, transform) = (task / count, task % count);
                let slices = slab * slab_slices..((slab + 1) * slab_slices).min(fixed.shape[2]);
                piece.moments(slices, &fixed_to_moving[transform])
            },
        )
        .collect();
    let pieces_of = |transform| (0..slabs).map(move |slab| slab * count + transform);
    let cost_of = |transform| cost(fixed.bins, pieces_of(transform).map(|task| &pieces[task]));
    Ok((0..count).into_par_iter().map(cost_of).collect())
}

/// The cost Σ_b n_b·var_b / (n·var) of a transform from the moments of all bins b.
fn cost<'a>(bins: usize, pieces: impl Iterator<Item = &'a Vec<Moments>>) -> f64 {
    let mut sums = vec![Moments::default(); bins];
    for piece in pieces {
        for (sum, part) in sums.iter_mut().zip(piece) {
            for moment in 0..3 {
                sum[moment] += part[moment];
            }
        }
    }
    let (mut within, mut all) = (0.0, Moments::default());
    for sum in sums.iter().filter(|sum| sum[0] > LEAST_COUNT) {
        within += deviation(sum);
        for moment in 0..3 {
            all[moment] += sum[moment];
        }
    }
    let total = deviation(&all);
    // Because of rounding, the computed variance of a constant image is not exactly 0. A variance that is so small
    // relative to the mean square counts as 0, which gives the cost 1.
    if total > 1e-9 * all[2] { (within / total).clamp(0.0, 1.0) } else { 1.0 }
}

/// The sum Σw(y − ȳ)², which is Σw times the variance of y, from Σw, Σwy and Σwy². Without samples the quotient is NaN,
/// which `max` replaces by 0.
fn deviation([n, y, yy]: &Moments) -> f64 {
    (yy - y * y / n).max(0.0)
}

#[cfg(test)]
mod tests;
