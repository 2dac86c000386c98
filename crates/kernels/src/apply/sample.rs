//! What every interpolation of this module implements, and the loop over the voxels of an output.

use antsreg_core::Grid;
use rayon::prelude::*;

use super::{cell::is_inside, path::Path};

/// Interpolates an image at a fractional voxel index inside it.
pub trait Sample: Sync {
    /// Type of the interpolated value.
    type Value: Copy + Send + Sync;
    /// The interpolated value at a fractional voxel index.
    fn at(&self, index: [f64; 3]) -> Self::Value;
}

/// Computes the value of each voxel of the output grid `onto`, in parallel over its rows.
pub fn fill<S: Sample>(path: &Path, onto: &Grid, shape: [usize; 3], sampler: &S, outside: S::Value) -> Vec<S::Value> {
    let nx = onto.shape[0];
    let mut voxels = vec![outside; onto.len()];
    voxels.par_chunks_exact_mut(nx).enumerate().with_min_len(16).for_each_init(
        || vec![[0.0; 3]; nx],
        |indices, (row, out)| {
            path.row(row, indices);
            for (out, index) in out.iter_mut().zip(indices.iter()) {
                if is_inside(shape, *index) {
                    *out = sampler.at(*index);
                }
            }
        },
    );
    voxels
}
