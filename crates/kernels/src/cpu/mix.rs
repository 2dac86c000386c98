//! Norms and weighted sums of update fields, and rounding of displacements after their conversion to other units.

use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use super::field::Field;
use super::widest;
use crate::rounding::rounded;

/// The norm √Σ‖u‖² of a field. Squares are summed within rows, and then over the rows in order.
pub(super) fn magnitude(field: &Field) -> f64 {
    let rows = field.vectors().par_chunks(field.shape[0]).map(|row| {
        let square = |v: &[f32; 3]| v.iter().map(|c| f64::from(*c) * f64::from(*c)).sum::<f64>();
        row.iter().map(square).sum::<f64>()
    });
    rows.collect::<Vec<f64>>().into_iter().sum::<f64>().sqrt()
}

/// The displacements of a field, each multiplied by `matrix`, which converts them to other units, and rounded to
/// multiples of `step`.
pub(super) fn in_units(field: &Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Vec<[f32; 3]> {
    field.vectors().par_iter().map(|u| rounded((matrix * Vector3::from(*u)).into(), step)).collect()
}

/// A copy of a field whose displacements u are converted to other units by the matrix A (`there`), rounded to multiples
/// of `step`, and converted back by the matrix B (`back`): B·round(A·u).
pub(super) fn round_field(field: &Field, [there, back]: [&Matrix3<f32>; 2], step: f32) -> Field {
    let mut out = Field::zeros(field.shape);
    out.vectors_mut().par_iter_mut().zip(field.vectors()).with_min_len(1 << 12).for_each(|(v, u)| {
        *v = (back * Vector3::from(rounded((there * Vector3::from(*u)).into(), Some(step)))).into();
    });
    out
}

/// Adds a scaled displacement field to another field: field ← field + scale·other.
pub(super) fn add_scaled(field: &mut Field, other: &Field, scale: f64) {
    let ([nx, ny, _], scale) = (field.shape, scale as f32);
    field.vectors_mut().par_chunks_mut(nx * ny).zip(other.vectors().par_chunks(nx * ny)).for_each(
        |(field, other)| {
            widest(
                #[inline(always)]
                || {
                    for (u, v) in field.iter_mut().zip(other) {
                        *u = std::array::from_fn(|axis| u[axis] + scale * v[axis]);
                    }
                },
            );
        },
    );
}
