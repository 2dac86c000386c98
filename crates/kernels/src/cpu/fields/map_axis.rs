//! Linear maps of the vectors of a field along one axis.

use rayon::prelude::*;

use crate::axis_map::AxisMap;
use crate::cpu::{Field, widest};

/// Number of vectors that a thread computes at least.
const RUN: usize = 1 << 12;

pub(super) fn map_axis(field: &Field, axis: usize, map: &AxisMap, out: &mut Field) {
    let inner: usize = field.shape[..axis].iter().product();
    let (results, width) = (map.results(), map.width());
    let values = field.vectors();
    // The vectors of one result: those of all places on the axes before this one.
    out.vectors_mut().par_chunks_mut(inner).with_min_len(RUN.div_ceil(inner)).enumerate().for_each(|(n, sums)| {
        let (result, group) = (n % results, n / results);
        let first = group * map.values() + map.first()[result] as usize;
        widest(
            #[inline(always)]
            || {
                sums.fill([0.0; 3]);
                for (k, weight) in map.weights()[result * width..][..width].iter().enumerate() {
                    for (sum, value) in sums.iter_mut().zip(&values[(first + k) * inner..][..inner]) {
                        *sum = std::array::from_fn(|c| sum[c] + weight * value[c]);
                    }
                }
            },
        );
    });
}
