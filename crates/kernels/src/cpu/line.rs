//! The positions of a row of a grid under an affine map.

use antsreg_core::AffineTransform;

/// The positions of one row of a grid under an affine map: a straight line, whose start is computed in double precision
/// and whose other points are computed from it in single precision.
#[derive(Clone, Copy)]
pub(super) struct Line {
    start: [f32; 3],
    step: [f32; 3],
}

impl Line {
    pub(super) fn new(map: &AffineTransform, j: usize, k: usize) -> Line {
        let start = map.matrix.column(1) * j as f64 + map.matrix.column(2) * k as f64 + map.translation;
        Line {
            start: std::array::from_fn(|axis| start[axis] as f32),
            step: std::array::from_fn(|axis| map.matrix[(axis, 0)] as f32),
        }
    }

    #[inline(always)]
    pub(super) fn at(&self, i: f32) -> [f32; 3] {
        std::array::from_fn(|axis| self.start[axis] + i * self.step[axis])
    }
}
