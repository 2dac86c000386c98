//! Corrects a pair of displacement fields that should be inverse to each other, where they fold or where their inverse
//! consistency is poor. The volume is examined in bricks (blocks of 8³ voxels).

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use crate::cpu::corners;
use crate::cpu::field::{Field, on_edge};
use crate::cpu::fields::{invert, residual};
use crate::cpu::widest;
use crate::relax::{BRICK, CORRECTED, CORRECTED_BY, MARGIN, bricks, pull, weight};
use crate::{InversionLimits, RelaxLimits, RelaxRound, gaussian};

/// Memory of the relaxation of two fields: the marks of the bricks (blocks of 8³ voxels) of both fields that the next
/// round must examine; and scratch memory.
#[derive(Debug)]
pub struct RelaxWorkspace {
    pub(in crate::cpu) shape: [usize; 3],
    examine: [Marks; 2],
    /// Weight of each voxel of the field that is being corrected: the share of the Gaussian-smoothed field in the
    /// voxel's new displacement, or the mark [`UNFOLDED`]. All weights are zero between the corrections of the two
    /// fields.
    weights: Vec<f32>,
}

impl RelaxWorkspace {
    pub(in crate::cpu) fn new(shape: [usize; 3]) -> RelaxWorkspace {
        let mut workspace = RelaxWorkspace {
            shape,
            examine: [Marks::none(shape), Marks::none(shape)],
            weights: vec![0.0; shape.iter().product()],
        };
        workspace.examine_all();
        workspace
    }

    pub(in crate::cpu) fn examine_all(&mut self) {
        self.examine.iter_mut().flat_map(|marks| &mut marks.marked).for_each(|mark| *mark.get_mut() = true);
    }
}

/// The bricks (blocks of 8³ voxels) of a volume, each with a mark that tells whether the brick is still to be
/// processed.
#[derive(Debug)]
struct Marks {
    shape: [usize; 3],
    bricks: [usize; 3],
    marked: Vec<AtomicBool>,
}

impl Marks {
    fn none(shape: [usize; 3]) -> Marks {
        let bricks = bricks(shape);
        let none = || AtomicBool::new(false);
        Marks { shape, bricks, marked: std::iter::repeat_with(none).take(bricks.iter().product()).collect() }
    }

    /// Marks the bricks (blocks of 8³ voxels) that contain a voxel whose distance from `point` along each axis is at
    /// most `margin`. Threads may mark bricks at the same time.
    fn around(&self, point: [f32; 3], margin: f32) {
        let [x, y, z] = std::array::from_fn(|axis| self.along(axis, point[axis], margin));
        for k in z {
            for j in y.clone() {
                for i in x.clone() {
                    self.marked[(k * self.bricks[1] + j) * self.bricks[0] + i].store(true, Relaxed);
                }
            }
        }
    }

    fn along(&self, axis: usize, at: f32, margin: f32) -> RangeInclusive<usize> {
        let last = (self.shape[axis] - 1) as f32;
        let brick = |at: f32| at.clamp(0.0, last) as usize / BRICK;
        brick(at - margin)..=brick(at + margin)
    }

    /// Calls `examine(found, first, count)` for each row of voxels in the marked bricks, one brick after the other: the
    /// first voxel of the row, and the number of voxels. Returns all that the calls add to the list `found`.
    fn rows<T: Send>(&self, examine: impl Fn(&mut Vec<T>, [usize; 3], usize) + Sync) -> Vec<T> {
        let [bx, by, _] = self.bricks;
        let marked = (0..self.marked.len()).into_par_iter().filter(|brick| self.marked[*brick].load(Relaxed));
        let found = marked.flat_map_iter(|brick| {
            let corner = [brick % bx, brick / bx % by, brick / (bx * by)].map(|n| n * BRICK);
            let [x, y, z] = std::array::from_fn(|axis| corner[axis]..(corner[axis] + BRICK).min(self.shape[axis]));
            let mut found = Vec::new();
            widest(
                #[inline(always)]
                || {
                    for k in z {
                        for j in y.clone() {
                            examine(&mut found, [x.start, j, k], x.len());
                        }
                    }
                },
            );
            found
        });
        found.collect()
    }
}

/// Corrects two fields that should be inverse to each other, in one round of relaxation as defined by
/// [`Relaxation::relax`](crate::ops::Relaxation::relax).
pub(in crate::cpu) fn relax(pair: [&mut Field; 2], round: &RelaxRound, workspace: &mut RelaxWorkspace) -> [usize; 2] {
    let [there, back] = pair;
    [half(there, back, 0, round, workspace), half(back, there, 1, round, workspace)]
}

fn half(
    field: &mut Field,
    inverse: &mut Field,
    side: usize,
    round: &RelaxRound,
    workspace: &mut RelaxWorkspace,
) -> usize {
    let shape = field.shape;
    let examined = std::mem::replace(&mut workspace.examine[side], Marks::none(shape));
    let mut beyond = examined.rows(
        #[inline(always)]
        |found, first, count| beyond(field, inverse, &round.limits, (first, count), found),
    );
    let count = beyond.len();
    let better = beyond.par_iter().map(|(at, beyond)| match beyond {
        Beyond::Folds => None,
        Beyond::Misses(_) => corrected(field, inverse, round, *at),
    });
    let mut better = better.collect::<Vec<_>>().into_iter();
    let mut corrections = Vec::new();
    beyond.retain(|(at, _)| {
        let better = better.next().flatten();
        corrections.extend(better.map(|better| (*at, better)));
        better.is_none()
    });
    let changed = spread(&beyond, round, shape, &mut workspace.weights);
    let smoothing = Smoothing::new(shape, round.variance_voxels);
    let weights = &workspace.weights;
    let relaxed: Vec<[f32; 3]> = changed
        .par_iter()
        .map(|at| {
            let (u, w) = (field.vectors()[field.index(*at)], weights[field.index(*at)]);
            if w == UNFOLDED {
                return corners::unfolded(field, *at, round.limits.smallest_jacobian, &round.allowed);
            }
            let s = smoothing.at(field, *at);
            std::array::from_fn(|axis| u[axis] + w * (s[axis] - u[axis]))
        })
        .collect();
    // `corrections` has displacements that were set to the inverse of the other field. They are written last, so that
    // they replace smoothed displacements of the same voxels.
    let changes: Vec<_> = changed.into_iter().zip(relaxed).chain(corrections).collect();
    let (examine, followed) = (&workspace.examine[side], Marks::none(shape));
    changes.par_iter().for_each(|(at, relaxed)| {
        let here = at.map(|n| n as f32);
        examine.around(here, 1.0);
        for u in [field.vectors()[field.index(*at)], *relaxed] {
            followed.around(std::array::from_fn(|axis| here[axis] + u[axis]), MARGIN);
        }
    });
    for (at, relaxed) in changes {
        let index = field.index(at);
        workspace.weights[index] = 0.0;
        field.vectors_mut()[index] = relaxed;
    }
    follow(field, inverse, side, round, followed, workspace);
    count
}

/// Computes `inverse` again from the changed `field`, in the bricks that `followed` marks. Then marks the bricks of
/// both fields that the next round must examine.
fn follow(
    field: &Field,
    inverse: &mut Field,
    side: usize,
    round: &RelaxRound,
    followed: Marks,
    workspace: &RelaxWorkspace,
) {
    let shape = field.shape;
    let sampler = field.sampler();
    let moved = followed.rows(
        #[inline(always)]
        |moved, [i, j, k], count| {
            for at in (i..i + count).map(|i| [i, j, k]) {
                let before = inverse.vectors()[inverse.index(at)];
                let after = invert::inverse_at(&sampler, shape, at, before, &round.follow);
                if after != before {
                    moved.push((at, after));
                }
            }
        },
    );
    // Where the field changed, its inverse field may deviate more than before, even if the inverse field did not
    // change. So these bricks (blocks of 8³ voxels) of the inverse field are examined again.
    let [examine, examine_inverse] = [side, 1 - side].map(|side| &workspace.examine[side]);
    for (examine, followed) in examine_inverse.marked.iter().zip(followed.marked) {
        examine.fetch_or(followed.into_inner(), Relaxed);
    }
    moved.par_iter().for_each(|(at, v)| {
        let here = at.map(|n| n as f32);
        examine_inverse.around(here, 1.0);
        examine.around(std::array::from_fn(|axis| here[axis] + v[axis]), MARGIN);
    });
    for (at, v) in moved {
        let index = inverse.index(at);
        inverse.vectors_mut()[index] = v;
    }
}

/// In which way a displacement field exceeds the limits of the relaxation at a voxel: it folds, or it deviates from the
/// inverse of the other field.
#[derive(Debug, Clone, Copy)]
enum Beyond {
    Folds,
    /// The field deviates too much from the inverse of the other field at this voxel. The voxel gets a weighted mean of
    /// its displacement and that of the smoothed field; the number is the weight of the smoothed field.
    Misses(f32),
}

/// Adds to `found` the voxels of a row, of at most eight voxels, that exceed the limits.
#[inline(always)]
fn beyond(
    field: &Field,
    inverse: &Field,
    limits: &RelaxLimits,
    ([i, j, k], count): ([usize; 3], usize),
    found: &mut Vec<([usize; 3], Beyond)>,
) {
    let sampler = inverse.sampler();
    let largest = limits.largest_residual_voxels * limits.largest_residual_voxels;
    let smallest = corners::smallest(field, [i, j, k]).to_array();
    for (i, smallest) in (i..i + count).zip(smallest) {
        let at = [i, j, k];
        if smallest < limits.smallest_jacobian {
            found.push((at, Beyond::Folds));
            continue;
        }
        let squared = residual::squared_residual_at(&sampler, field, at);
        if squared > largest {
            found.push((at, Beyond::Misses(pull(squared, largest))));
        }
    }
}

/// The new displacement of a voxel where the field deviates from the inverse of the other field: that of this inverse.
/// `None` if the residual would stay above `CORRECTED`, or the displacement would change by more than `CORRECTED_BY`.
fn corrected(field: &Field, inverse: &Field, round: &RelaxRound, at: [usize; 3]) -> Option<[f32; 3]> {
    let shape = field.shape;
    if on_edge(at, shape) {
        return None;
    }
    let before = field.vectors()[field.index(at)];
    let sampler = inverse.sampler();
    let limits = InversionLimits { untouched_voxels: 0.0, ..round.follow };
    let better = invert::inverse_at(&sampler, shape, at, before, &limits);
    let by: f32 = (0..3).map(|axis| (better[axis] - before[axis]) * (better[axis] - before[axis])).sum();
    let left = residual::squared_residual(&sampler, at.map(|n| n as f32), better);
    (left <= CORRECTED * CORRECTED && by <= CORRECTED_BY * CORRECTED_BY).then_some(better)
}

/// Each voxel has a number: the share of the smoothed field in its new displacement, at most 1. This larger number
/// marks a voxel whose displacement is changed otherwise, to remove a fold there or at a neighbour.
const UNFOLDED: f32 = 2.0;

/// Sets the weights of all voxels near the voxels in `beyond`, which exceed the limits of the workspace. A weight is
/// the share of the smoothed field in the new displacement, or [`UNFOLDED`]. Returns the list of the voxels whose
/// weight was set. Near means at most `reach_voxels` along each axis, or a direct neighbour if folds are corrected by
/// displacements.
fn spread(
    beyond: &[([usize; 3], Beyond)],
    round: &RelaxRound,
    shape: [usize; 3],
    weights: &mut [f32],
) -> Vec<[usize; 3]> {
    let mut reached = Vec::new();
    for (centre, beyond) in beyond {
        let (reach, strength) = match beyond {
            Beyond::Folds if round.unfolds => (1, UNFOLDED),
            Beyond::Folds => (round.reach_voxels, 1.0),
            Beyond::Misses(strength) => (round.reach_voxels, *strength),
        };
        let [x, y, z] = std::array::from_fn(|axis| {
            centre[axis].saturating_sub(reach)..(centre[axis] + reach + 1).min(shape[axis])
        });
        for k in z {
            for j in y.clone() {
                for i in x.clone() {
                    let offset = [i.abs_diff(centre[0]), j.abs_diff(centre[1]), k.abs_diff(centre[2])];
                    let share = match strength {
                        // The Jacobian determinant at a cell corner depends only on a voxel and its neighbours along
                        // the axes.
                        UNFOLDED => {
                            if offset.iter().sum::<usize>() <= 1 {
                                UNFOLDED
                            } else {
                                0.0
                            }
                        }
                        strength => strength * weight(offset, reach),
                    };
                    let here = &mut weights[(k * shape[1] + j) * shape[0] + i];
                    if *here == 0.0 && share > 0.0 {
                        reached.push([i, j, k]);
                    }
                    *here = here.max(share);
                }
            }
        }
    }
    reached
}

/// Smooths a field at single voxels, with the same result as
/// [`smooth_both_fields`](crate::ops::Fields::smooth_both_fields).
struct Smoothing {
    shape: [usize; 3],
    kernels: [Vec<f32>; 3],
}

impl Smoothing {
    fn new(shape: [usize; 3], variance_voxels: f64) -> Smoothing {
        let kernel = gaussian::kernel(variance_voxels);
        Smoothing { shape, kernels: shape.map(|n| if n > 1 { kernel.clone() } else { vec![1.0] }) }
    }

    fn at(&self, field: &Field, at: [usize; 3]) -> [f32; 3] {
        if on_edge(at, self.shape) {
            return [0.0; 3];
        }
        let vectors = field.vectors();
        self.sum(2, at, |k| self.sum(1, at, |j| self.sum(0, at, |i| vectors[field.index([i, j, k])])))
    }

    /// Smooths along one axis: the sum of `value` at the indices around `at`, weighted by the kernel.
    fn sum(&self, axis: usize, at: [usize; 3], value: impl Fn(usize) -> [f32; 3]) -> [f32; 3] {
        let (at, last, kernel) = (at[axis], self.shape[axis] - 1, &self.kernels[axis]);
        let mut sum = value(at).map(|v| kernel[0] * v);
        for (k, weight) in kernel.iter().enumerate().skip(1) {
            let (low, high) = (value(at.saturating_sub(k)), value((at + k).min(last)));
            sum = std::array::from_fn(|c| sum[c] + weight * (low[c] + high[c]));
        }
        sum
    }
}

#[cfg(test)]
mod tests;
