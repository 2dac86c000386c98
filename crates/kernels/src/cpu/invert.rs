//! Inversion of a displacement field by fixed-point and Newton steps, for each voxel on its own.

use rayon::prelude::*;
use wide::f32x4;

use super::field::{Field, FieldSampler, lanes, on_edge, vector};
use super::{slab, widest};
use crate::InversionLimits;

/// Number of fixed-point steps v ← −u(x + v) before Newton steps. If the start is the inverse of the previous
/// iteration, these steps are enough nearly everywhere. They diverge where the field stretches space by more than a
/// factor of 2.
const PLAIN_STEPS: usize = 4;

/// Improves `inverse`, the inverse v of a field u, until u(x + v(x)) + v(x) is within the limits at each voxel.
pub(super) fn invert(field: &Field, inverse: &mut Field, limits: &InversionLimits) {
    let [nx, ny, nz] = field.shape;
    let sampler = field.sampler();
    let on_edge = |index: usize, n: usize| n > 1 && (index == 0 || index == n - 1);
    let slices = slab(nz);
    inverse.vectors_mut().par_chunks_mut(nx * ny * slices).enumerate().for_each(|(chunk, vectors)| {
        widest(
            #[inline(always)]
            || {
                for (row, vectors) in vectors.chunks_exact_mut(nx).enumerate() {
                    let (j, k) = (row % ny, chunk * slices + row / ny);
                    if on_edge(j, ny) || on_edge(k, nz) {
                        vectors.fill([0.0; 3]);
                        continue;
                    }
                    for (i, v) in vectors.iter_mut().enumerate() {
                        if on_edge(i, nx) {
                            *v = [0.0; 3];
                            continue;
                        }
                        *v = invert_at(&sampler, [i as f32, j as f32, k as f32], *v, limits);
                    }
                }
            },
        )
    });
}

/// Computes the inverse displacement at one voxel, starting from `start`; zero on the border.
pub(super) fn inverse_at(
    sampler: &FieldSampler,
    shape: [usize; 3],
    at: [usize; 3],
    start: [f32; 3],
    limits: &InversionLimits,
) -> [f32; 3] {
    if on_edge(at, shape) {
        return [0.0; 3];
    }
    invert_at(sampler, at.map(|n| n as f32), start, limits)
}

/// Computes the inverse displacement at one voxel by fixed-point steps, then Newton steps.
#[inline(always)]
fn invert_at(sampler: &FieldSampler, point: [f32; 3], start: [f32; 3], limits: &InversionLimits) -> [f32; 3] {
    let (point, mut v) = (lanes(point), lanes(start));
    let tolerance = limits.tolerance_voxels * limits.tolerance_voxels;
    let untouched = limits.untouched_voxels * limits.untouched_voxels;
    for step in 0..limits.steps {
        let reached = point + v;
        let residual = sampler.at(reached) + v;
        let squared = squared_length(residual);
        if step == 0 && squared <= untouched {
            break;
        }
        let close = squared <= tolerance;
        v -= if close || step < PLAIN_STEPS {
            residual
        } else {
            lanes(newton(sampler.derivative(reached).map(vector), vector(residual)))
        };
        if close {
            break;
        }
    }
    vector(v)
}

#[inline(always)]
fn squared_length(lanes: f32x4) -> f32 {
    let [x, y, z] = vector(lanes * lanes);
    x + y + z
}

/// The Newton step (I + ∂u/∂x)⁻¹·residual by Cramer's rule. It is limited to the length of one voxel, because the
/// derivative is that of one cell and differs in other cells. If the derivative is nearly singular, half the residual
/// is taken.
fn newton(derivative: [[f32; 3]; 3], residual: [f32; 3]) -> [f32; 3] {
    let column = |axis: usize| {
        let mut column = derivative[axis];
        column[axis] += 1.0;
        column
    };
    let (a, b, c) = (column(0), column(1), column(2));
    let determinant = dot(a, cross(b, c));
    if determinant.abs() < 0.01 {
        return residual.map(|r| 0.5 * r);
    }
    let step = [dot(residual, cross(b, c)), dot(a, cross(residual, c)), dot(a, cross(b, residual))]
        .map(|numerator| numerator / determinant);
    let length = dot(step, step).sqrt();
    step.map(|s| s / length.max(1.0))
}

pub(super) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Squared residual ‖u(x + v(x)) + v(x)‖² of the inverse v at one voxel, in voxels².
#[inline(always)]
pub(super) fn squared_residual_at(sampler: &FieldSampler, inverse: &Field, at: [usize; 3]) -> f32 {
    squared_residual(sampler, at.map(|n| n as f32), inverse.vectors()[inverse.index(at)])
}

/// Squared residual ‖u(x + v) + v‖² of a displacement v at a point x, in voxels².
#[inline(always)]
pub(super) fn squared_residual(sampler: &FieldSampler, point: [f32; 3], v: [f32; 3]) -> f32 {
    let v = lanes(v);
    squared_length(sampler.at(lanes(point) + v) + v)
}
