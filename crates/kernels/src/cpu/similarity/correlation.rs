//! Pearson's correlation of two images.

use rayon::prelude::*;

use crate::cpu::image::Image;
use crate::scores::PairSums;

/// Pearson's correlation of two images. Values are summed within rows, and then over the rows in order.
pub(in crate::cpu) fn correlation(first: &Image, second: &Image, mask: Option<&Image>) -> f64 {
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
