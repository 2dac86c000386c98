//! Slabs in which the exact derivative of the cross-correlation is computed if there is not enough memory for the terms
//! of all windows at once.

use std::ops::Range;

use crate::CcParameters;

/// A slab of successive slices (along z).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TermSlab {
    /// The slices whose terms must be known: those of the slab, and as many on both sides as the radius of a window.
    pub(crate) terms: Range<usize>,
    /// The slices of the slab, of which the derivatives are computed.
    pub(crate) own: Range<usize>,
}

/// Divides a volume of `nz` slices into slabs of about the same size. The memory has room for the terms of `capacity`
/// slices. Returns `None` if so little memory would make more work of the margins than of the slabs.
pub(crate) fn term_slabs(nz: usize, radius: usize, capacity: usize) -> Option<Vec<TermSlab>> {
    if capacity >= nz {
        return Some(vec![TermSlab { terms: 0..nz, own: 0..nz }]);
    }
    let most = capacity.checked_sub(2 * radius).filter(|most| *most > 2 * radius)?;
    let depth = nz.div_ceil(nz.div_ceil(most));
    let slab = |first: usize| {
        let own = first..(first + depth).min(nz);
        TermSlab { terms: own.start.saturating_sub(radius)..(own.end + radius).min(nz), own }
    };
    Some((0..nz).step_by(depth).map(slab).collect())
}

impl CcParameters {
    /// Whether a scratch field of the images' shape has room for the terms of the exact derivative, slab by slab. A
    /// volume with few slices has no slabs that are thicker than the margins that their windows need.
    pub fn terms_fit(shape: [usize; 3], radius: usize) -> bool {
        term_slabs(shape[2], radius, 3 * shape[2] / Self::TERMS).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_follow_each_other_and_fit_into_memory() {
        for (nz, radius, capacity) in [(176, 2, 105), (176, 4, 105), (40, 2, 24), (100, 5, 21), (101, 1, 7)] {
            let slabs = term_slabs(nz, radius, capacity).expect("enough memory");
            assert!(slabs.len() > 1);
            let mut reached = 0;
            for TermSlab { terms, own } in slabs {
                assert_eq!(own.start, reached);
                assert!(terms.len() <= capacity && !own.is_empty(), "{terms:?} of {own:?}");
                assert_eq!(terms, own.start.max(radius) - radius..(own.end + radius).min(nz));
                reached = own.end;
            }
            assert_eq!(reached, nz);
        }
    }

    #[test]
    fn one_slab_is_enough_if_there_is_memory_and_none_if_there_is_too_little() {
        assert_eq!(term_slabs(50, 2, 50), Some(vec![TermSlab { terms: 0..50, own: 0..50 }]));
        assert_eq!(term_slabs(50, 2, 8), None);
        assert_eq!(term_slabs(1, 2, 0), None);
    }
}
