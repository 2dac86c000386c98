//! Composition of displacement fields, and steps along updates.

use wide::f32x4;

use crate::cpu::blocks::each_row_with;
use crate::cpu::field::{Field, lanes, max_norm, vector};
use crate::cpu::points::Points;

/// Composes two fields, in place: field(x) ← field(x) + then(x + field(x)).
pub(in crate::cpu) fn compose(field: &mut Field, then: &Field) {
    compose_scaled(field, then, 1.0);
}

/// One step of a field along its update, scaled to a length of `step`: u(x) ← u(x) + s·update(x + u(x)) with s = step /
/// max‖update‖, or 0 if the update is zero.
pub(in crate::cpu) fn advance(field: &mut Field, update: &Field, step_voxels: f64) {
    let longest = max_norm(update);
    let scale = if longest > 0.0 { (step_voxels / f64::from(longest)) as f32 } else { 0.0 };
    compose_scaled(field, update, scale);
}

/// Adds to each displacement u of a field what another field has at the displaced voxel, multiplied by `scale`:
/// u(x) ← u(x) + scale·then(x + u(x)).
fn compose_scaled(field: &mut Field, then: &Field, scale: f32) {
    let (shape, sampler) = (field.shape, then.sampler());
    each_row_with(
        field.vectors_mut(),
        shape,
        Points::new,
        #[inline(always)]
        |points, [j, k], row| {
            let (y, z) = (j as f32, k as f32);
            for (n, vectors) in row.chunks_mut(Points::MOST).enumerate() {
                let first = n * Points::MOST;
                for (lane, u) in vectors.iter().enumerate() {
                    points.set(lane, [(first + lane) as f32 + u[0], y + u[1], z + u[2]]);
                }
                points.locate(vectors.len(), shape);
                for (lane, u) in vectors.iter_mut().enumerate() {
                    *u = vector(lanes(*u) + f32x4::splat(scale) * sampler.at_place(points.place(lane)));
                }
            }
        },
    );
}
