//! The steps by which a displacement field is inverted at a voxel.

use std::ops::{Add, Mul, Sub};

/// Number of fixed-point steps v ← −u(x + v) before Newton steps. If the start is the inverse of the previous
/// iteration, these steps are enough nearly everywhere. Where they are not, more of them do not help: they converge
/// slowly where the field is steep, and diverge where it stretches space by more than a factor of 2.
pub(in crate::cpu) const PLAIN_STEPS: usize = 2;

/// The Newton step (I + ∂u/∂x)⁻¹·residual by Cramer's rule. It is limited to the length of one voxel, because the
/// derivative is that of one cell and differs in other cells. If the derivative is nearly singular, half the residual
/// is taken.
#[inline(always)]
pub(in crate::cpu) fn newton([mut a, mut b, mut c]: [[f32; 3]; 3], residual: [f32; 3]) -> [f32; 3] {
    a[0] += 1.0;
    b[1] += 1.0;
    c[2] += 1.0;
    let normal = cross(b, c);
    let determinant = dot(a, normal);
    if determinant.abs() < 0.01 {
        return residual.map(|r| 0.5 * r);
    }
    let [x, y, z] = [dot(residual, normal), dot(a, cross(residual, c)), dot(a, cross(b, residual))];
    let step = [x / determinant, y / determinant, z / determinant];
    let length = dot(step, step).sqrt();
    step.map(|s| s / length.max(1.0))
}

#[inline(always)]
pub(in crate::cpu) fn dot<T: Copy + Add<Output = T> + Mul<Output = T>>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(in crate::cpu) fn cross<T: Copy + Sub<Output = T> + Mul<Output = T>>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
