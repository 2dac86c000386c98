//! Intensity ranges: what "dark" and "bright" mean in an image with outliers.

use rayon::prelude::*;

/// The values below which the shares `low` and `high` (0…1) of the finite voxels lie, by linear interpolation between
/// order statistics. `None` if there is no finite voxel.
pub fn quantiles(voxels: &[f32], low: f64, high: f64) -> Option<(f32, f32)> {
    let order = OrderStatistics::new(voxels);
    let last = order.len().checked_sub(1)?;
    let at = |share: f64| {
        let rank = share * last as f64;
        let below = rank.floor() as usize;
        let lower = order.value(below);
        let upper = order.value((below + 1).min(last));
        lower + (rank - below as f64) as f32 * (upper - lower)
    };
    Some((at(low), at(high)))
}

/// Finds the nth smallest of many values without sorting them: counts by the upper half of their bits, then looks into
/// the one bucket that holds it.
struct OrderStatistics<'a> {
    voxels: &'a [f32],
    /// Finite values whose [`key`] has these upper 16 bits.
    buckets: Vec<usize>,
}

/// Values per piece of parallel work.
const PIECE: usize = 1 << 18;

/// Unsigned numbers in the order of the floats they stand for.
fn key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn bucket(value: f32) -> usize {
    (key(value) >> 16) as usize
}

impl<'a> OrderStatistics<'a> {
    fn new(voxels: &'a [f32]) -> Self {
        let count = |piece: &[f32]| {
            let mut buckets = vec![0; 1 << 16];
            piece.iter().filter(|value| value.is_finite()).for_each(|value| buckets[bucket(*value)] += 1);
            buckets
        };
        let add = |mut sum: Vec<usize>, piece: Vec<usize>| {
            sum.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += piece);
            sum
        };
        let buckets = voxels.par_chunks(PIECE).map(count).reduce(|| vec![0; 1 << 16], add);
        OrderStatistics { voxels, buckets }
    }

    fn len(&self) -> usize {
        self.buckets.iter().sum()
    }

    /// The value that `rank` others precede; the rank must be below [`len`](Self::len).
    fn value(&self, rank: usize) -> f32 {
        let mut rest = rank;
        let holds = |count: &usize| {
            let here = rest < *count;
            rest -= if here { 0 } else { *count };
            here
        };
        let wanted = self.buckets.iter().position(holds).unwrap_or(self.buckets.len());
        let belongs = |value: &&f32| value.is_finite() && bucket(**value) == wanted;
        let mut within: Vec<f32> =
            self.voxels.par_chunks(PIECE).flat_map_iter(|piece| piece.iter().filter(belongs).copied()).collect();
        *within.select_nth_unstable_by(rest, f32::total_cmp).1
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
