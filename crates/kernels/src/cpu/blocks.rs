//! Division of a volume into blocks of rows and slices. A thread computes one block at a time.

use std::ops::Range;

use rayon::prelude::*;

use super::widest;

/// Largest number of rows (along y) of a block, so that a few slices of the block stay in the second-level cache.
pub(super) const MOST_ROWS: usize = 32;
/// The time to start a block, in the time to compute a row.
const START: usize = 4;

/// The blocks of some successive slices of a volume: each has the same rows of some of the slices.
pub(super) struct Blocks {
    ny: usize,
    slices: Range<usize>,
    /// Numbers of rows and slices of a block; less in the last blocks.
    rows: usize,
    depth: usize,
}

impl Blocks {
    /// Blocks for an operation that computes, for each block, `margin` more rows and slices on each side.
    pub(super) fn of(ny: usize, slices: Range<usize>, margin: usize) -> Blocks {
        let threads = rayon::current_num_threads() as f64;
        let depth_of = |layers: usize| slices.len().div_ceil(layers).max(1);
        let divisions = [MOST_ROWS, MOST_ROWS / 2, MOST_ROWS / 4, MOST_ROWS / 8]
            .into_iter()
            .flat_map(|rows| (1..=slices.len().max(1)).map(move |layers| [rows.min(ny), depth_of(layers)]));
        // All threads share the work, and then all but one wait until the last block is done.
        let time = |[rows, depth]: [usize; 2]| {
            let blocks = (ny.div_ceil(rows) * slices.len().div_ceil(depth)) as f64;
            let work = ((rows + 2 * margin) * (depth + 2 * margin) + START) as f64;
            (blocks / threads + 1.0) * work
        };
        let fastest = divisions.min_by(|one, other| time(*one).total_cmp(&time(*other)));
        let [rows, depth] = fastest.unwrap_or([1, 1]);
        Blocks { ny, slices, rows, depth }
    }

    /// Number of rows of a block.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The rows and the slices of each block.
    pub(super) fn ranges(&self) -> impl Iterator<Item = [Range<usize>; 2]> {
        let slices = self.slices.clone().step_by(self.depth);
        slices.flat_map(move |first| {
            let slices = first..(first + self.depth).min(self.slices.end);
            let rows = (0..self.ny).step_by(self.rows);
            rows.map(move |first| [first..(first + self.rows).min(self.ny), slices.clone()])
        })
    }

    /// Sorts what belongs to the rows of one block in one slice by blocks, in the order of [`Blocks::ranges`]. `parts`
    /// come in the order of memory: slice by slice, the [`rows`](Blocks::rows) of one block each.
    pub(super) fn sort<T>(&self, parts: impl IntoIterator<Item = T>) -> Vec<Vec<T>> {
        let tiles = self.ny.div_ceil(self.rows);
        let mut sorted: Vec<Vec<T>> = Vec::new();
        sorted.resize_with(self.slices.len().div_ceil(self.depth) * tiles, Vec::new);
        for (n, part) in parts.into_iter().enumerate() {
            sorted[n / tiles / self.depth * tiles + n % tiles].push(part);
        }
        sorted
    }
}

/// Calls `compute([j, k], row)` for each row (·, j, k) of a volume, on all threads. What `compute` inlines is compiled
/// for the [`widest`] vectors.
#[inline(always)]
pub(super) fn each_row<T: Send>(
    voxels: &mut [T],
    [nx, ny, nz]: [usize; 3],
    compute: impl Fn([usize; 2], &mut [T]) + Sync,
) {
    let blocks = Blocks::of(ny, 0..nz, 0);
    let parts = voxels.chunks_mut(nx * ny).flat_map(|slice| slice.chunks_mut(nx * blocks.rows()));
    let tasks: Vec<_> = blocks.ranges().zip(blocks.sort(parts)).collect();
    tasks.into_par_iter().for_each(|([rows, slices], parts)| {
        widest(
            #[inline(always)]
            || {
                for (k, part) in slices.zip(parts) {
                    for (j, row) in rows.clone().zip(part.chunks_exact_mut(nx)) {
                        compute([j, k], row);
                    }
                }
            },
        );
    });
}
