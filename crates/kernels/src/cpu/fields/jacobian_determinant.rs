//! The Jacobian determinant of x + u(x).

use rayon::prelude::*;

use crate::cpu::field::Field;
use crate::cpu::image::Image;

/// The determinants det(I + ∂u/∂x) at all voxels: central differences, one-sided at the border; an axis of one voxel
/// has no derivative.
pub(in crate::cpu) fn jacobian_determinant(field: &Field, out: &mut Image) {
    let [nx, ny, _] = field.shape;
    out.voxels.par_chunks_mut(nx).enumerate().for_each(|(row, voxels)| {
        for (i, voxel) in voxels.iter_mut().enumerate() {
            *voxel = determinant_at(field, [i, row % ny, row / ny]);
        }
    });
}

/// Jacobian determinant of the warp x + u(x) at one voxel.
#[inline(always)]
pub(in crate::cpu) fn determinant_at(field: &Field, at: [usize; 3]) -> f32 {
    let [nx, ny, _] = field.shape;
    let vectors = field.vectors();
    let here = (at[2] * ny + at[1]) * nx + at[0];
    let column = |axis: usize| {
        let (index, n, stride) = (at[axis], field.shape[axis], [1, nx, nx * ny][axis]);
        let (below, above) = (usize::from(index > 0), usize::from(index + 1 < n));
        let (low, high) = (vectors[here - below * stride], vectors[here + above * stride]);
        let span = (below + above).max(1) as f32;
        let mut derivative: [f32; 3] = std::array::from_fn(|c| (high[c] - low[c]) / span);
        derivative[axis] += 1.0;
        derivative
    };
    let (a, b, c) = (column(0), column(1), column(2));
    a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1])
}
