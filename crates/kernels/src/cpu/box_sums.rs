//! Sums of several quantities over a box around every voxel, truncated at the border.
//!
//! Large parts of a brain image are zero outside the brain. There the sums are known, and are not computed.
//!
//! There are no running sums: adding and subtracting in single precision leaves residues where an image is zero, and
//! the sum of an empty window must be exactly zero. A few shifted additions over rows in cache cost no more.

use std::ops::Range;

use super::blocks::MOST_ROWS;
use super::extent::Extent;
use super::lanes;

/// Buffers in which one thread computes sums over boxes of voxels.
#[derive(Debug, Default)]
pub(super) struct BoxSums {
    padded: Vec<f32>,
    along_x: Vec<f32>,
    ring: Vec<f32>,
    sums: Vec<f32>,
    /// The extents of the rows of `along_x` and `ring`.
    extents_along_x: Vec<Extent>,
    extents_in_ring: Vec<Extent>,
}

impl BoxSums {
    /// Calls `emit(j, k, extent, sums)` for every row of a block: the rows `range[0]` of the slices `range[1]`, at most
    /// [`MOST_ROWS`] rows. `sums[q]` holds, for each x within the extent, the sum of quantity q over the box of (2·radius +
    /// 1)³ voxels.
    ///
    /// `fill(j, k, rows)` writes the rows of all quantities and returns their extent, beyond which all are zero. Beyond
    /// the extent of `emit`, all sums are zero, and what `sums` holds there has no meaning.
    #[inline(always)]
    pub(super) fn run<const Q: usize>(
        &mut self,
        [nx, ny, nz]: [usize; 3],
        radius: usize,
        [rows, range]: [Range<usize>; 2],
        fill: impl Fn(usize, usize, [&mut [f32]; Q]) -> Extent,
        mut emit: impl FnMut(usize, usize, Extent, [&[f32]; Q]),
    ) {
        let (y0, rows) = (rows.start, rows.len());
        let width = 2 * radius + 1;
        let padded_row = nx + 2 * radius;
        let plane = MOST_ROWS * nx;
        self.padded.clear();
        self.padded.resize(Q * padded_row, 0.0);
        self.along_x.resize(Q * (MOST_ROWS + 2 * radius) * nx, 0.0);
        self.ring.resize(width * Q * plane, 0.0);
        self.sums.resize(Q * nx, 0.0);
        self.extents_along_x.resize(MOST_ROWS + 2 * radius, Extent::NONE);
        self.extents_in_ring.resize(width * MOST_ROWS, Extent::NONE);
        self.ring.fill(0.0);
        self.extents_in_ring.fill(Extent::NONE);
        for k in range.start.saturating_sub(radius)..range.end + radius {
            let slot = &mut self.ring[(k % width) * Q * plane..][..Q * plane];
            let extents = &mut self.extents_in_ring[(k % width) * MOST_ROWS..][..MOST_ROWS];
            if k < nz {
                // Sums along x are computed for the rows of a tile (a part of each slice) and for its margins of
                // `radius` rows.
                for r in 0..rows + 2 * radius {
                    let Some(j) = (y0 + r).checked_sub(radius).filter(|j| *j < ny) else {
                        for q in 0..Q {
                            self.along_x[(q * (MOST_ROWS + 2 * radius) + r) * nx..][..nx].fill(0.0);
                        }
                        self.extents_along_x[r] = Extent::NONE;
                        continue;
                    };
                    let mut rest = &mut self.padded[..];
                    let filled = std::array::from_fn(|_| {
                        let (row, after) = std::mem::take(&mut rest).split_at_mut(padded_row);
                        rest = after;
                        &mut row[radius..radius + nx]
                    });
                    let extent = fill(j, k, filled).widened(radius, nx);
                    self.extents_along_x[r] = extent;
                    for q in 0..Q {
                        let padded = &self.padded[q * padded_row..][..padded_row];
                        let target = &mut self.along_x[(q * (MOST_ROWS + 2 * radius) + r) * nx..][..nx];
                        add_rows(width, extent, |d| &padded[d..d + nx], target);
                    }
                }
                // The sums over `2·radius + 1` voxels along x are now added along y.
                for r in 0..rows {
                    extents[r] = Extent::of_all(&self.extents_along_x[r..r + width]);
                }
                for q in 0..Q {
                    for r in 0..rows {
                        let along_x = &self.along_x[(q * (MOST_ROWS + 2 * radius) + r) * nx..];
                        let target = &mut slot[q * plane + r * nx..][..nx];
                        add_rows(width, extents[r], |d| &along_x[d * nx..][..nx], target);
                    }
                }
            } else {
                slot.fill(0.0);
                extents.fill(Extent::NONE);
            }
            // Slice k is the last slice of the windows that are centred in slice k − radius. So the sums of these
            // windows are now added along z.
            let Some(middle) = k.checked_sub(radius).filter(|middle| range.contains(middle)) else {
                continue;
            };
            for r in 0..rows {
                let extent = Extent::of_all(self.extents_in_ring[r..].iter().step_by(MOST_ROWS));
                for q in 0..Q {
                    let ring = &self.ring;
                    let target = &mut self.sums[q * nx..][..nx];
                    let row = |slot: usize| &ring[(slot * Q + q) * plane + r * nx..][..nx];
                    add_rows_within(width, extent, row, target);
                }
                emit(y0 + r, middle, extent, std::array::from_fn(|q| &self.sums[q * nx..][..nx]));
            }
        }
    }
}

/// Adds `count` rows, element by element, within an extent: target = row(0) + row(1) + … + row(count − 1). Beyond the
/// extent the target becomes zero.
#[inline(always)]
fn add_rows<'a>(count: usize, extent: Extent, row: impl Fn(usize) -> &'a [f32], target: &mut [f32]) {
    extent.clear_beyond(target);
    add_rows_within(count, extent, row, target);
}

/// Adds rows like [`add_rows`], but leaves the target as it is beyond the extent.
#[inline(always)]
fn add_rows_within<'a>(count: usize, extent: Extent, row: impl Fn(usize) -> &'a [f32], target: &mut [f32]) {
    let row = |n: usize| &row(n)[extent.range()];
    let target = &mut target[extent.range()];
    match target.len() {
        32.. => add_rows_by::<32>(count, row, target),
        8.. => add_rows_by::<8>(count, row, target),
        _ => add_rows_by::<1>(count, row, target),
    }
}

/// Adds rows of numbers element by element, as [`add_rows`] does, `LANES` elements at a time.
#[inline(always)]
fn add_rows_by<'a, const LANES: usize>(count: usize, row: impl Fn(usize) -> &'a [f32], target: &mut [f32]) {
    for from in lanes::blocks(target.len(), LANES) {
        let mut sum = [0.0; LANES];
        for d in 0..count {
            let addend = &row(d)[from..from + LANES];
            for lane in 0..LANES {
                sum[lane] += addend[lane];
            }
        }
        target[from..from + LANES].copy_from_slice(&sum);
    }
}
