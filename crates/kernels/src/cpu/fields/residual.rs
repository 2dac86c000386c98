//! Residuals of the inverse of a displacement field.

use wide::f32x4;

use crate::cpu::field::{Field, FieldSampler, lanes, vector};

/// Squared residual ‖u(x + v(x)) + v(x)‖² of the inverse v at one voxel, in voxels².
#[inline(always)]
pub(in crate::cpu) fn squared_residual_at(sampler: &FieldSampler, inverse: &Field, at: [usize; 3]) -> f32 {
    squared_residual(sampler, at.map(|n| n as f32), inverse.vectors()[inverse.index(at)])
}

/// Squared residual ‖u(x + v) + v‖² of a displacement v at a point x, in voxels².
#[inline(always)]
pub(in crate::cpu) fn squared_residual(sampler: &FieldSampler, point: [f32; 3], v: [f32; 3]) -> f32 {
    let v = lanes(v);
    squared_length(sampler.at(lanes(point) + v) + v)
}

#[inline(always)]
pub(in crate::cpu) fn squared_length(lanes: f32x4) -> f32 {
    let [x, y, z] = vector(lanes * lanes);
    x + y + z
}
