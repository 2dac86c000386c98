//! Smooths a field where it folds, and where its inverse cannot follow it.

use super::field::Field;
use super::image::Image;
use super::{invert, jacobian, smooth};
use crate::RelaxLimits;
use crate::relax::{REACH, VARIANCE, pull, weight};

/// See [`Backend::relax`](crate::Backend::relax).
pub(super) fn relax(field: &mut Field, inverse: &Field, limits: &RelaxLimits) -> usize {
    let shape = field.shape;
    let mut determinant = Image::zeros(shape);
    jacobian::determinant(field, &mut determinant);
    let residuals = invert::squared_residuals(inverse, field);
    let largest = limits.largest_residual_voxels * limits.largest_residual_voxels;
    let beyond: Vec<(usize, f32)> = (0..residuals.len())
        .filter_map(|at| {
            let folds = determinant.voxels[at] < limits.smallest_jacobian;
            (folds || residuals[at] > largest).then(|| (at, if folds { 1.0 } else { pull(residuals[at], largest) }))
        })
        .collect();
    if beyond.is_empty() {
        return 0;
    }
    let mut smoothed = field.clone();
    smooth::field(&mut smoothed, VARIANCE, &mut Field::zeros(shape));
    let [nx, ny, nz] = shape;
    let around = |centre: usize, n: usize| centre.saturating_sub(REACH)..(centre + REACH + 1).min(n);
    let mut weights = Image::zeros(shape);
    for (at, pull) in &beyond {
        let centre = [at % nx, at / nx % ny, at / (nx * ny)];
        for k in around(centre[2], nz) {
            for j in around(centre[1], ny) {
                for i in around(centre[0], nx) {
                    let offset = [i.abs_diff(centre[0]), j.abs_diff(centre[1]), k.abs_diff(centre[2])];
                    let here = &mut weights.voxels[(k * ny + j) * nx + i];
                    *here = here.max(pull * weight(offset));
                }
            }
        }
    }
    for ((v, s), w) in field.vectors_mut().iter_mut().zip(smoothed.vectors()).zip(&weights.voxels) {
        *v = std::array::from_fn(|axis| v[axis] + w * (s[axis] - v[axis]));
    }
    beyond.len()
}
