//! Statistics of a quantity with one number for each voxel of a field.

use rayon::prelude::*;

use crate::cpu::image::Image;
use crate::cpu::widest;
use crate::scores::Statistics;

impl Statistics {
    pub(in crate::cpu) const NOTHING: Statistics = Statistics {
        counted: 0,
        sum: 0.0,
        low: f32::INFINITY,
        high: f32::NEG_INFINITY,
        not_positive: 0,
        corner_low: f32::INFINITY,
        corner_not_positive: 0,
    };

    pub(in crate::cpu) fn and(self, value: f32) -> Statistics {
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

    pub(in crate::cpu) fn and_corner(self, smallest: f32) -> Statistics {
        Statistics {
            corner_low: self.corner_low.min(smallest),
            corner_not_positive: self.corner_not_positive + u64::from(smallest <= 0.0 || smallest.is_nan()),
            ..self
        }
    }

    pub(in crate::cpu) fn with(self, other: Statistics) -> Statistics {
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
    pub(in crate::cpu) fn of(
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
