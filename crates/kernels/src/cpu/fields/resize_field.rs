//! Resampling of displacement fields on other grids.

use antsreg_core::AffineTransform;
use nalgebra::Matrix3;

use crate::cpu::blocks::each_row;
use crate::cpu::field::{Field, lanes, vector};
use crate::cpu::line::Line;

/// Resamples a field on another grid: out(x) = matrix·field(m(x)), with the map m = `out_to_field`.
pub(in crate::cpu) fn resize_field(
    field: &Field,
    out_to_field: &AffineTransform,
    matrix: &Matrix3<f64>,
    out: &mut Field,
) {
    let (shape, sampler) = (out.shape, field.sampler());
    let rows = [0, 1, 2].map(|row| [0, 1, 2].map(|column| matrix[(row, column)] as f32));
    each_row(
        out.vectors_mut(),
        shape,
        #[inline(always)]
        |[j, k], out| {
            let line = Line::new(out_to_field, j, k);
            for (i, out) in out.iter_mut().enumerate() {
                let v = vector(sampler.at(lanes(line.at(i as f32))));
                *out = rows.map(
                    #[inline(always)]
                    |row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2],
                );
            }
        },
    );
}
