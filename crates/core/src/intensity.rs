//! Intensity ranges: what "dark" and "bright" mean in an image with outliers.

use rayon::prelude::*;

/// The values below which the shares `low` and `high` (0…1) of the finite voxels lie, by linear interpolation between
/// order statistics. `None` if there is no finite voxel.
pub fn quantiles(voxels: &[f32], low: f64, high: f64) -> Option<(f32, f32)> {
    let order = OrderStatistics::new(voxels);
    let last = order.len().checked_sub(1)?;
    let rank = |share: f64| share * last as f64;
    let [below_low, below_high] = [low, high].map(|share| rank(share).floor() as usize);
    let [above_low, above_high] = [below_low, below_high].map(|below| (below + 1).min(last));
    let values = order.values([below_low, above_low, below_high, above_high]);
    let between = |share: f64, below: f32, above: f32| below + rank(share).fract() as f32 * (above - below);
    Some((between(low, values[0], values[1]), between(high, values[2], values[3])))
}

/// Finds the nth smallest of many values without sorting them: counts by the upper half of their bits, then by the lower
/// half in the one bucket that holds it.
struct OrderStatistics<'a> {
    voxels: &'a [f32],
    /// Finite values whose [`key`] has these upper 16 bits.
    buckets: Vec<u32>,
}

/// Values of half a key.
const HALF: usize = 1 << 16;
/// The fewest values worth a thread of their own.
const PIECE: usize = 1 << 18;

/// Unsigned numbers in the order of the floats they stand for.
fn key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The float that a key stands for.
fn value_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// How many finite values have each index; those without one do not count. A table a thread: more would cost more to make
/// than to fill.
fn count(voxels: &[f32], index: impl Fn(u32) -> Option<u32> + Sync) -> Vec<u32> {
    let tabulate = |piece: &[f32]| {
        let mut table = vec![0; HALF];
        let keys = piece.iter().filter(|value| value.is_finite()).map(|value| key(*value));
        keys.filter_map(&index).for_each(|index| table[index as usize] += 1);
        table
    };
    let add = |mut sum: Vec<u32>, piece: Vec<u32>| {
        sum.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += piece);
        sum
    };
    let piece = voxels.len().div_ceil(rayon::current_num_threads()).max(PIECE);
    voxels.par_chunks(piece).map(tabulate).reduce_with(add).unwrap_or_else(|| vec![0; HALF])
}

/// Where in a table of counts the value stands that `rank` others precede, and how many of its own entry precede it.
fn find(table: &[u32], rank: usize) -> (usize, usize) {
    let mut rest = rank;
    let holds = |count: &u32| {
        let here = rest < *count as usize;
        rest -= if here { 0 } else { *count as usize };
        here
    };
    let entry = table.iter().position(holds).unwrap_or(table.len() - 1);
    (entry, rest)
}

impl<'a> OrderStatistics<'a> {
    fn new(voxels: &'a [f32]) -> Self {
        OrderStatistics { voxels, buckets: count(voxels, |key| Some(key >> 16)) }
    }

    fn len(&self) -> usize {
        self.buckets.iter().map(|count| *count as usize).sum()
    }

    /// The values that so many others precede; each rank must be below [`len`](Self::len), and none below the one before.
    fn values(&self, ranks: [usize; 4]) -> [f32; 4] {
        let mut within = (HALF, Vec::new());
        ranks.map(|rank| {
            let (bucket, rest) = find(&self.buckets, rank);
            if bucket != within.0 {
                within = (bucket, count(self.voxels, |key| (key >> 16 == bucket as u32).then_some(key & 0xffff)));
            }
            value_of((bucket as u32) << 16 | find(&within.1, rest).0 as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::quantiles;

    proptest! {
        #[test]
        fn are_the_interpolated_values_of_the_sorted_voxels(
            mut voxels in prop::collection::vec(prop_oneof![Just(0.0_f32), -1e3_f32..1e3, -1e-3_f32..1e-3], 1..400),
            low in 0.0..0.5,
            high in 0.5..=1.0,
        ) {
            let found = quantiles(&voxels, low, high);
            voxels.sort_by(f32::total_cmp);
            let at = |share: f64| {
                let rank = share * (voxels.len() - 1) as f64;
                let (below, above) = (voxels[rank.floor() as usize], voxels[rank.ceil() as usize]);
                below + rank.fract() as f32 * (above - below)
            };
            prop_assert_eq!(found, Some((at(low), at(high))));
        }
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let voxels = [f32::NAN, 3.0, f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0];
        assert_eq!(quantiles(&voxels, 0.0, 1.0), Some((1.0, 3.0)));
        assert_eq!(quantiles(&voxels, 0.5, 0.75), Some((2.0, 2.5)));
        assert_eq!(quantiles(&[f32::NAN], 0.0, 1.0), None);
        assert_eq!(quantiles(&[], 0.0, 1.0), None);
    }
}
