//! Scores: Jacobian determinants and inverse consistency of fields, correlation of images.

use antsreg_core::jacobian::JacobianSummary;
use rayon::prelude::*;

use super::corners;
use super::field::Field;
use super::image::Image;
use super::invert::squared_residual_at;
use super::jacobian::determinant_at;
use super::lanes::LANES;
use super::widest;
use crate::InverseConsistency;
use crate::scores::{PairSums, Statistics};

impl Statistics {
    const NOTHING: Statistics = Statistics {
        counted: 0,
        sum: 0.0,
        low: f32::INFINITY,
        high: f32::NEG_INFINITY,
        not_positive: 0,
        corner_low: f32::INFINITY,
        corner_not_positive: 0,
    };

    fn and(self, value: f32) -> Statistics {
        Statistics {
            counted: self.counted + 1,
            sum: self.sum + f64::from(value),
            // The minimum and the maximum over voxels ignore NaN. The number of values that are not positive includes
            // NaN.
            low: self.low.min(value),
            high: self.high.max(value),
            not_positive: self.not_positive + u64::from(value <= 0.0 || value.is_nan()),
            ..self
        }
    }

    fn and_corner(self, smallest: f32) -> Statistics {
        Statistics {
            corner_low: self.corner_low.min(smallest),
            corner_not_positive: self.corner_not_positive + u64::from(smallest <= 0.0 || smallest.is_nan()),
            ..self
        }
    }

    fn with(self, other: Statistics) -> Statistics {
        Statistics {
            counted: self.counted + other.counted,
            sum: self.sum + other.sum,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            not_positive: self.not_positive + other.not_positive,
            corner_low: self.corner_low.min(other.corner_low),
            corner_not_positive: self.corner_not_positive + other.corner_not_positive,
        }
    }

    /// Computes statistics over all rows of voxels: `of_row([j, k], counts)` computes those of a row, for its voxels i
    /// with `counts(i)`, which are inside the mask. The statistics of the rows are added in order.
    fn of(
        [nx, ny, nz]: [usize; 3],
        mask: Option<&Image>,
        of_row: impl Fn([usize; 2], &dyn Fn(usize) -> bool) -> Statistics + Sync,
    ) -> Statistics {
        let rows = (0..ny * nz).into_par_iter().map(|row| {
            let counts = |i: usize| mask.is_none_or(|mask| mask.voxels[row * nx + i] > 0.5);
            widest(
                #[inline(always)]
                || of_row([row % ny, row / ny], &counts),
            )
        });
        rows.collect::<Vec<_>>().into_iter().fold(Statistics::NOTHING, Statistics::with)
    }
}

/// Statistics of the Jacobian determinants det(I + ∂u/∂x), and of the smallest determinant at the cell corners of each
/// voxel.
pub(super) fn jacobian_summary(field: &Field, mask: Option<&Image>) -> JacobianSummary {
    let nx = field.shape[0];
    let statistics = Statistics::of(
        field.shape,
        mask,
        #[inline(always)]
        |[j, k], counts| {
            let mut found = Statistics::NOTHING;
            for first in (0..nx).step_by(LANES) {
                let corners = corners::smallest(field, [first, j, k]).to_array();
                for (i, corner) in (first..nx).zip(corners).filter(|(i, _)| counts(*i)) {
                    found = found.and(determinant_at(field, [i, j, k])).and_corner(corner);
                }
            }
            found
        },
    );
    statistics.jacobian_summary()
}

/// Statistics of the inverse consistency ‖u(x) + v(x + u(x))‖, where u is `first` and v is `then`.
pub(super) fn inverse_consistency(first: &Field, then: &Field, mask: Option<&Image>) -> InverseConsistency {
    let then = then.sampler();
    let statistics = Statistics::of(
        first.shape,
        mask,
        #[inline(always)]
        |[j, k], counts| {
            let mut found = Statistics::NOTHING;
            for i in (0..first.shape[0]).filter(|i| counts(*i)) {
                found = found.and(squared_residual_at(&then, first, [i, j, k]).sqrt());
            }
            found
        },
    );
    statistics.inverse_consistency()
}

/// Pearson's correlation of two images. Values are summed within rows, and then over the rows in order.
pub(super) fn correlation(first: &Image, second: &Image, mask: Option<&Image>) -> f64 {
    let nx = first.shape[0];
    let rows = first.voxels.par_chunks(nx).zip(second.voxels.par_chunks(nx)).enumerate().map(|(row, (a, b))| {
        let counts = |i: usize| mask.is_none_or(|mask| mask.voxels[row * nx + i] > 0.5);
        let pairs = a.iter().zip(b).enumerate().filter(|(i, _)| counts(*i));
        pairs.map(|(_, (a, b))| (f64::from(*a), f64::from(*b))).fold(PairSums::default(), |sums, (a, b)| PairSums {
            counted: sums.counted + 1,
            a: sums.a + a,
            b: sums.b + b,
            aa: sums.aa + a * a,
            bb: sums.bb + b * b,
            ab: sums.ab + a * b,
        })
    });
    let all = rows.collect::<Vec<_>>().into_iter().fold(PairSums::default(), |all, row| PairSums {
        counted: all.counted + row.counted,
        a: all.a + row.a,
        b: all.b + row.b,
        aa: all.aa + row.aa,
        bb: all.bb + row.bb,
        ab: all.ab + row.ab,
    });
    all.correlation()
}
