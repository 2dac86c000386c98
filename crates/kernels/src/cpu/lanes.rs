//! Vectors of eight single-precision numbers (SIMD): reading and writing eight successive values of a row at once.

use wide::f32x8;

pub(super) const LANES: usize = 8;

/// Reads the eight values of a row from `from` on, with zeros beyond the end of the row.
#[inline(always)]
pub(super) fn load(row: &[f32], from: usize) -> f32x8 {
    let rest = &row[from..];
    match rest.first_chunk() {
        Some(eight) => f32x8::new(*eight),
        None => f32x8::new(std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or(0.0))),
    }
}

/// Writes eight values to a row from `from` on; values beyond the end of the row are left out.
#[inline(always)]
pub(super) fn store(lanes: f32x8, row: &mut [f32], from: usize) {
    let rest = &mut row[from..];
    match rest.first_chunk_mut() {
        Some(eight) => *eight = lanes.to_array(),
        None => rest.iter_mut().zip(lanes.to_array()).for_each(|(value, lane)| *value = lane),
    }
}

/// A lane mask: all bits are set in the first `count` lanes and clear in the remaining lanes.
#[inline(always)]
pub(super) fn first(count: usize) -> f32x8 {
    f32x8::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).simd_lt(f32x8::splat(count as f32))
}

/// Divides a row of at least `lanes` values into blocks of `lanes` values, as vectorised loops process them. Returns
/// the index of the first value of each block. The last block may overlap the one before.
#[inline(always)]
pub(super) fn blocks(len: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..len.div_ceil(lanes)).map(move |block| (block * lanes).min(len - lanes))
}
