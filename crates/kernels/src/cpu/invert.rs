//! The inverse of a displacement field by fixed-point steps, each voxel on its own.

use rayon::prelude::*;

use super::field::Field;
use super::{slab, wide};
use crate::{Inversion, InversionLimits};

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
                    let point = [i as f32, j as f32, k as f32];
                    for _ in 0..limits.steps {
                        let u = sampler.at(std::array::from_fn(|axis| point[axis] + v[axis]));
                        let residual: [f32; 3] = std::array::from_fn(|axis| u[axis] + v[axis]);
                        *v = [-u[0], -u[1], -u[2]];
                        if residual[0] * residual[0] + residual[1] * residual[1] + residual[2] * residual[2]
                            <= tolerance
                        {
                            break;
                        }
                    }
                }
            }
        })
    });
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
