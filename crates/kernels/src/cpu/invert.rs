//! The inverse of a displacement field by fixed-point steps, each voxel on its own.

use rayon::prelude::*;

use super::field::{Field, FieldSampler};
use super::{slab, wide};
use crate::{Inversion, InversionLimits};

/// Converges where the field stretches space up to eightfold.
const SHORTEST_STEP: f32 = 0.25;

/// Improves `inverse` until u(x + v(x)) + v(x) is within the limits at each voxel.
pub(super) fn invert(field: &Field, inverse: &mut Field, limits: &InversionLimits) {
    let [nx, ny, nz] = field.shape;
    let sampler = field.sampler();
    let tolerance = limits.tolerance_voxels * limits.tolerance_voxels;
    let on_edge = |index: usize, n: usize| n > 1 && (index == 0 || index == n - 1);
    let slices = slab(nz);
    inverse.vectors_mut().par_chunks_mut(nx * ny * slices).enumerate().for_each(|(chunk, vectors)| {
        wide(|| {
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
                    *v = invert_at(&sampler, [i as f32, j as f32, k as f32], *v, limits.steps, tolerance);
                }
            }
        })
    });
}

/// Fixed-point steps at one voxel. The full step v ← −u(x + v) diverges where the field stretches space by more than 2;
/// there a shorter one converges, so the step is halved whenever it has not halved the residual.
#[inline(always)]
fn invert_at(sampler: &FieldSampler, point: [f32; 3], start: [f32; 3], steps: usize, tolerance: f32) -> [f32; 3] {
    let mut v = start;
    let mut step = 1.0_f32;
    let mut last = f32::INFINITY;
    for _ in 0..steps {
        let u = sampler.at(std::array::from_fn(|axis| point[axis] + v[axis]));
        let residual: [f32; 3] = std::array::from_fn(|axis| u[axis] + v[axis]);
        let squared = residual[0] * residual[0] + residual[1] * residual[1] + residual[2] * residual[2];
        if squared > 0.25 * last {
            step = (0.5 * step).max(SHORTEST_STEP);
        }
        last = squared;
        v = std::array::from_fn(|axis| v[axis] - step * residual[axis]);
        if squared <= tolerance {
            break;
        }
    }
    v
}

/// Mean and largest ‖u(x + v(x)) + v(x)‖.
pub(super) fn error(field: &Field, inverse: &Field) -> Inversion {
    let [nx, ny, _] = field.shape;
    let sampler = field.sampler();
    let slices: Vec<(f64, f32)> = inverse
        .vectors()
        .par_chunks(nx * ny)
        .enumerate()
        .map(|(k, vectors)| {
            let (mut sum, mut longest) = (0.0, 0.0_f32);
            for (index, v) in vectors.iter().enumerate() {
                let u = sampler.at([(index % nx) as f32 + v[0], (index / nx) as f32 + v[1], k as f32 + v[2]]);
                let residual = (0..3).map(|axis| (u[axis] + v[axis]) * (u[axis] + v[axis])).sum::<f32>().sqrt();
                sum += f64::from(residual);
                longest = longest.max(residual);
            }
            (sum, longest)
        })
        .collect();
    Inversion {
        mean_voxels: slices.iter().map(|slice| slice.0).sum::<f64>() / inverse.vectors().len() as f64,
        max_voxels: slices.iter().map(|slice| f64::from(slice.1)).fold(0.0, f64::max),
    }
}
