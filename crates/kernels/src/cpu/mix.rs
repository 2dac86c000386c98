//! Magnitudes and weighted sums of updates.

use rayon::prelude::*;

use super::field::Field;
use super::{slab, widest};

/// √Σ‖u‖², summed row by row, then the rows in order.
pub(super) fn magnitude(field: &Field) -> f64 {
    let rows = field.vectors().par_chunks(field.shape[0]).map(|row| {
        let square = |v: &[f32; 3]| v.iter().map(|c| f64::from(*c) * f64::from(*c)).sum::<f64>();
        row.iter().map(square).sum::<f64>()
    });
    rows.collect::<Vec<f64>>().into_iter().sum::<f64>().sqrt()
}

/// field ← field + scale·other.
pub(super) fn add_scaled(field: &mut Field, other: &Field, scale: f64) {
    let [nx, ny, nz] = field.shape;
    let (scale, piece) = (scale as f32, nx * ny * slab(nz));
    field.vectors_mut().par_chunks_mut(piece).zip(other.vectors().par_chunks(piece)).for_each(|(field, other)| {
        widest(
            #[inline(always)]
            || {
                for (u, v) in field.iter_mut().zip(other) {
                    *u = std::array::from_fn(|axis| u[axis] + scale * v[axis]);
                }
            },
        );
    });
}
