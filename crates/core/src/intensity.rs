//! Quantiles of intensities, and rescaling of intensities to the range 0…1.

use std::convert::Infallible;

use rayon::prelude::*;

/// Two quantiles of the intensities of an image, and the number of voxels from which they were computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Number of finite voxels of the image. The quantiles leave out all other voxels.
    pub finite: usize,
    /// The lower and the upper quantile of the intensities; `None` if no voxel is finite.
    pub low_high: Option<(f32, f32)>,
}

/// The quantiles at the shares `low` and `high` (0…1) of the finite voxels, by linear interpolation between order
/// statistics. `None` if no voxel is finite.
pub fn quantiles(voxels: &[f32], low: f64, high: f64) -> Option<(f32, f32)> {
    all_quantiles(voxels, low, high).low_high
}

/// Computes the [`quantiles`] and the number of finite voxels.
pub fn all_quantiles(voxels: &[f32], low: f64, high: f64) -> Quantiles {
    let Ok(found) = quantiles_by(|upper| Ok::<_, Infallible>(count(voxels, upper)), low, high);
    found
}

/// Computes the [`foreground_quantiles_by`] of voxels in main memory.
pub fn foreground_quantiles(voxels: &[f32], low: f64, high: f64) -> Quantiles {
    let Ok(found) = foreground_quantiles_by(|upper| Ok::<_, Infallible>(count(voxels, upper)), low, high);
    found
}

/// Computes the [`quantiles`] of voxels that are on a device, from tables of counts. Each voxel value has a key of 32
/// bits with the same order as the values: the bits of the float, with all bits inverted for negative values and the
/// first bit inverted for others. `count(None)` returns how many finite voxels have each upper half of the key.
/// `count(Some(upper))` returns, for this upper half, how many voxels have each lower half. Both tables have
/// [`HALVES`] entries.
pub fn quantiles_by<E>(
    mut count: impl FnMut(Option<u16>) -> Result<Vec<u32>, E>,
    low: f64,
    high: f64,
) -> Result<Quantiles, E> {
    counted_quantiles(count(None)?, count, low, high)
}

/// The quantiles of the voxels that are not background, extended to the value of the background, so that they do not
/// depend on how much air the field of view holds. `count` is that of [`quantiles_by`].
///
/// The background is the commonest value among those that share the commonest upper half of the key. In an image without a
/// background this value has few voxels, and to leave them out changes little. If no range is left without the background,
/// as in a mask of 0 and 1, all finite voxels count. [`Quantiles::finite`] is the number of all finite voxels.
pub fn foreground_quantiles_by<E>(
    mut count: impl FnMut(Option<u16>) -> Result<Vec<u32>, E>,
    low: f64,
    high: f64,
) -> Result<Quantiles, E> {
    let mut buckets = count(None)?;
    let finite = buckets.iter().map(|count| *count as usize).sum();
    let fullest = commonest(&buckets);
    let values = count(Some(fullest))?;
    let lower = commonest(&values);
    let (background, voxels) = (value_of(u32::from(fullest) << 16 | u32::from(lower)), values[usize::from(lower)]);
    buckets[usize::from(fullest)] -= voxels;
    let without = |upper: Option<u16>| -> Result<Vec<u32>, E> {
        let mut table = count(upper)?;
        if upper == Some(fullest) {
            table[usize::from(lower)] -= voxels;
        }
        Ok(table)
    };
    let foreground = counted_quantiles(buckets, without, low, high)?;
    match foreground.low_high.filter(|(low, high)| low < high) {
        Some((low, high)) => Ok(Quantiles { finite, low_high: Some((low.min(background), high.max(background))) }),
        None => quantiles_by(count, low, high),
    }
}

/// The quantiles of voxels whose keys have the upper halves that `buckets` counts; `count` counts the lower halves.
fn counted_quantiles<E>(
    buckets: Vec<u32>,
    mut count: impl FnMut(Option<u16>) -> Result<Vec<u32>, E>,
    low: f64,
    high: f64,
) -> Result<Quantiles, E> {
    let finite = buckets.iter().map(|count| *count as usize).sum();
    let Some(last) = usize::checked_sub(finite, 1) else { return Ok(Quantiles { finite, low_high: None }) };
    let mut within = (None, Vec::new());
    let mut value = |rank: usize| -> Result<f32, E> {
        let (bucket, rest) = find(&buckets, rank);
        if within.0 != Some(bucket) {
            within = (Some(bucket), count(Some(bucket as u16))?);
        }
        Ok(value_of((bucket as u32) << 16 | find(&within.1, rest).0 as u32))
    };
    let mut at = |share: f64| -> Result<f32, E> {
        let rank = share * last as f64;
        let (below, above) = (value(rank.floor() as usize)?, value((rank.floor() as usize + 1).min(last))?);
        Ok(below + rank.fract() as f32 * (above - below))
    };
    Ok(Quantiles { finite, low_high: Some((at(low)?, at(high)?)) })
}

/// Clips intensities to the range from `low` to `high` and maps this range to 0…1.
pub fn rescaled(voxels: &[f32], (low, high): (f32, f32)) -> Vec<f32> {
    let scale = 1.0 / (high - low);
    voxels.par_iter().map(|value| (value.clamp(low, high) - low) * scale).collect()
}

/// Number of different values of the upper or lower half (16 bits) of the 32-bit key of a voxel value; see
/// [`quantiles_by`].
pub const HALVES: usize = 1 << 16;
/// Smallest number of voxels of an image that one parallel task processes.
const PIECE: usize = 1 << 18;

/// The key of a voxel value: an unsigned number of 32 bits. Keys have the same order as the voxel values.
fn key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Returns the voxel value for an integer key; keys are unsigned and have the same order as the voxel values. This is
/// the inverse of [`key`].
fn value_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// Counts voxels by the upper or lower 16 bits of their keys, as [`quantiles_by`] needs it. A key is an unsigned number
/// of 32 bits that has the order of the voxel values. Each thread fills a single table, because creating more tables
/// would take longer than filling them.
fn count(voxels: &[f32], upper: Option<u16>) -> Vec<u32> {
    let index = |key: u32| match upper {
        None => Some(key >> 16),
        Some(upper) => (key >> 16 == u32::from(upper)).then_some(key & 0xffff),
    };
    let tabulate = |piece: &[f32]| {
        let mut table = vec![0; HALVES];
        let keys = piece.iter().filter(|value| value.is_finite()).map(|value| key(*value));
        keys.filter_map(&index).for_each(|index| table[index as usize] += 1);
        table
    };
    let add = |mut sum: Vec<u32>, piece: Vec<u32>| {
        sum.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += piece);
        sum
    };
    let piece = voxels.len().div_ceil(rayon::current_num_threads()).max(PIECE);
    voxels.par_chunks(piece).map(tabulate).reduce_with(add).unwrap_or_else(|| vec![0; HALVES])
}

/// Index of the largest entry of a table of [`HALVES`] counts; the first of equal ones.
fn commonest(table: &[u32]) -> u16 {
    let first = table.iter().enumerate().max_by_key(|(index, count)| (**count, std::cmp::Reverse(*index)));
    first.map_or(0, |(index, _)| index as u16)
}

/// Finds the value of rank `rank` (0 for the smallest) from `table`, which counts values in ascending order. Returns
/// the index of the table entry that counts the value, and the rank of the value among the values of this entry.
fn find(table: &[u32], rank: usize) -> (usize, usize) {
    let mut rest = rank;
    let holds = |count: &u32| {
        let here = rest < *count as usize;
        rest -= if here { 0 } else { *count as usize };
        here
    };
    // The table counts more than `rank` values, so an entry is found.
    let entry = table.iter().position(holds).unwrap_or(0);
    (entry, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PIECE, Quantiles, foreground_quantiles, quantiles, rescaled};

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
    fn foreground_does_not_depend_on_the_amount_of_background() {
        let brain: Vec<f32> = (0..1000).map(|n| 50.0 + (n * 37 % 1000) as f32 / 10.0).collect();
        for background in [0.0, -1024.0, 500.0] {
            let with = |voxels: usize| {
                let mut all = brain.clone();
                all.resize(brain.len() + voxels, background);
                foreground_quantiles(&all, 0.02, 0.98)
            };
            let [few, many] = [200, 50_000].map(with);
            assert_eq!(few.low_high, many.low_high);
            assert_eq!(many.finite, 51_000);
            let (low, high) = quantiles(&brain, 0.02, 0.98).expect("quantiles");
            assert_eq!(few.low_high, Some((low.min(background), high.max(background))));
        }
    }

    #[test]
    fn a_mask_keeps_both_of_its_values() {
        let mask: Vec<f32> = (0..100).map(|n| f32::from(u8::from(n % 4 == 0))).collect();
        assert_eq!(foreground_quantiles(&mask, 0.02, 0.98).low_high, Some((0.0, 1.0)));
        assert_eq!(foreground_quantiles(&[f32::NAN], 0.0, 1.0), Quantiles { finite: 0, low_high: None });
        assert_eq!(foreground_quantiles(&[3.0; 9], 0.0, 1.0).low_high, Some((3.0, 3.0)));
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let voxels = [f32::NAN, 3.0, f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0];
        assert_eq!(quantiles(&voxels, 0.0, 1.0), Some((1.0, 3.0)));
        assert_eq!(quantiles(&voxels, 0.5, 0.75), Some((2.0, 2.5)));
        assert_eq!(quantiles(&[f32::NAN], 0.0, 1.0), None);
        assert_eq!(quantiles(&[], 0.0, 1.0), None);
    }

    #[test]
    fn pieces_of_a_large_image_are_counted_together() {
        // The values 0, 1, 2, … in reverse order, in three pieces.
        let last = 2 * PIECE + 100;
        let voxels: Vec<f32> = (0..=last).rev().map(|value| value as f32).collect();
        let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let found = three.install(|| quantiles(&voxels, 0.25, 0.75));
        assert_eq!(found, Some((last as f32 * 0.25, last as f32 * 0.75)));
    }

    #[test]
    fn rescaling_maps_the_range_to_0_to_1_and_clips() {
        let voxels = [-5.0, 2.0, 3.0, 4.0, 6.0, 10.0];
        assert_eq!(rescaled(&voxels, (2.0, 6.0)), [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]);
        assert_eq!(rescaled(&voxels, (-5.0, 3.0)), [0.0, 0.875, 1.0, 1.0, 1.0, 1.0]);
    }
}
