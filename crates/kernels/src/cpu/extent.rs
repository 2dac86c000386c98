//! The part of a row of numbers beyond which all are zero. Outside the brain, many images and updates are zero.

use std::ops::Range;

use super::lanes::LANES;

/// A range of a row of numbers, which begins and ends at multiples of [`LANES`] or at the end of the row. All numbers
/// beyond it are zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    start: usize,
    end: usize,
}

impl Extent {
    /// The extent of a row of zeros.
    pub(super) const NONE: Extent = Extent { start: usize::MAX, end: 0 };

    /// The extent of a row.
    #[inline(always)]
    pub(super) fn of(row: &[f32]) -> Extent {
        // The sign of a number, which −0 has, is shifted out.
        let filled = |block: &[f32]| block.iter().fold(0, |bits, value| bits | value.to_bits() << 1) != 0;
        let mut blocks = row.chunks(LANES);
        match (blocks.clone().position(filled), blocks.rposition(filled)) {
            (Some(first), Some(last)) => Extent { start: first * LANES, end: ((last + 1) * LANES).min(row.len()) },
            _ => Extent::NONE,
        }
    }

    /// The smallest extent that contains both.
    #[inline(always)]
    pub(super) fn and(self, other: Extent) -> Extent {
        Extent { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The smallest extent that contains all given ones.
    #[inline(always)]
    pub(super) fn of_all<'a>(extents: impl IntoIterator<Item = &'a Extent>) -> Extent {
        extents.into_iter().fold(Extent::NONE, |all, extent| all.and(*extent))
    }

    /// The extent of a row of `len` numbers after convolution with a kernel of this radius.
    #[inline(always)]
    pub(super) fn widened(self, radius: usize, len: usize) -> Extent {
        if self.range().is_empty() {
            return Extent::NONE;
        }
        let (start, end) = (self.start.saturating_sub(radius), (self.end + radius).next_multiple_of(LANES));
        Extent { start: start - start % LANES, end: end.min(len) }
    }

    #[inline(always)]
    pub(super) fn range(self) -> Range<usize> {
        self.start.min(self.end)..self.end
    }

    #[inline(always)]
    pub(super) fn contains(self, index: usize) -> bool {
        self.range().contains(&index)
    }

    /// Sets the numbers of a row beyond the extent to zero.
    #[inline(always)]
    pub(super) fn clear_beyond(self, row: &mut [f32]) {
        let Range { start, end } = self.range();
        row[..start].fill(0.0);
        row[end..].fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of zeros but for the given places.
    fn row(len: usize, places: &[usize]) -> Vec<f32> {
        (0..len).map(|n| if places.contains(&n) { 1e-40 } else { -0.0 }).collect()
    }

    #[test]
    fn extents_are_the_blocks_of_eight_that_are_not_all_zero() {
        let of = |len, places: &[usize]| Extent::of(&row(len, places)).range();
        assert_eq!(of(30, &[9]), 8..16);
        assert_eq!(of(30, &[7, 26]), 0..30);
        assert_eq!(of(5, &[4]), 0..5);
        assert_eq!(of(30, &[]), 0..0);
    }

    #[test]
    fn a_convolution_widens_extents_but_not_that_of_zeros() {
        let widened = |place: &[usize], radius| Extent::of(&row(50, place)).widened(radius, 50).range();
        assert_eq!([widened(&[20], 0), widened(&[20], 1), widened(&[20], 9)], [16..24, 8..32, 0..40]);
        assert_eq!([widened(&[49], 2), widened(&[0], 100), widened(&[], 3)], [40..50, 0..50, 0..0]);
    }

    #[test]
    fn several_extents_together_reach_from_the_first_to_the_last() {
        let [first, second] = [[17], [40]].map(|place| Extent::of(&row(50, &place)));
        assert_eq!(Extent::of_all(&[second, Extent::NONE, first]).range(), 16..48);
        assert_eq!(Extent::of_all(&[]).range(), 0..0);
        let mut ones = vec![1.0; 50];
        first.and(second).clear_beyond(&mut ones);
        assert_eq!(Extent::of(&ones).range(), 16..48);
        assert_eq!(ones.iter().sum::<f32>(), 32.0);
    }
}
