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
pub(super) fn each_row<T: Send>(voxels: &mut [T], shape: [usize; 3], compute: impl Fn([usize; 2], &mut [T]) + Sync) {
    each_row_with(
        voxels,
        shape,
        || (),
        #[inline(always)]
        |(), at, row| compute(at, row),
    );
}

/// Does what [`each_row`] does, and gives each call a `scratch`, which is made once for each block of rows.
#[inline(always)]
pub(super) fn each_row_with<T: Send, S>(
    voxels: &mut [T],
    [nx, ny, nz]: [usize; 3],
    scratch: impl Fn() -> S + Sync,
    compute: impl Fn(&mut S, [usize; 2], &mut [T]) + Sync,
) {
    let blocks = Blocks::of(ny, 0..nz, 0);
    let parts = voxels.chunks_mut(nx * ny).flat_map(|slice| slice.chunks_mut(nx * blocks.rows()));
    let tasks: Vec<_> = blocks.ranges().zip(blocks.sort(parts)).collect();
    tasks.into_par_iter().for_each(|([rows, slices], parts)| {
        let mut scratch = scratch();
        widest(
            #[inline(always)]
            || {
                for (k, part) in slices.zip(parts) {
                    for (j, row) in rows.clone().zip(part.chunks_exact_mut(nx)) {
                        compute(&mut scratch, [j, k], row);
                    }
                }
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(run)
    }

    #[test]
    fn every_row_is_computed_once_in_its_place() {
        for shape in [[3, 70, 41], [2, 1, 9], [4, 33, 1], [1, 1, 1]] {
            for threads in [1, 3, 16] {
                let mut voxels = vec![0; shape.iter().product()];
                let number = |[j, k]: [usize; 2]| 1 + k * shape[1] + j;
                let compute = |at, row: &mut [usize]| row.iter_mut().for_each(|value| *value += number(at));
                on_threads(threads, || each_row(&mut voxels, shape, compute));
                let expected = (0..voxels.len()).map(|n| 1 + n / shape[0]);
                assert!(voxels.iter().copied().eq(expected), "{shape:?} on {threads} threads");
            }
        }
    }

    #[test]
    fn parts_are_sorted_by_the_blocks_that_they_belong_to() {
        for (ny, slices, margin) in [(70, 5..41, 2), (9, 0..20, 3), (33, 2..3, 0)] {
            let blocks = on_threads(5, || Blocks::of(ny, slices.clone(), margin));
            let rows = |k: usize| (0..ny).step_by(blocks.rows()).map(move |first| [first, k]);
            let sorted = blocks.sort(slices.clone().flat_map(rows));
            assert_eq!(sorted.len(), blocks.ranges().count());
            for ([rows, slices], parts) in blocks.ranges().zip(sorted) {
                assert!(!rows.is_empty() && rows.len() <= MOST_ROWS);
                assert_eq!(parts, slices.map(|k| [rows.start, k]).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_volume_is_divided_among_all_threads_but_not_more_finely_than_margins_allow() {
        let count = |threads, ny, nz, margin| on_threads(threads, || Blocks::of(ny, 0..nz, margin).ranges().count());
        for threads in [2, 16, 64] {
            assert!(count(threads, 214, 167, 0) >= 4 * threads, "{threads} threads");
            assert!(count(threads, 107, 83, 2) >= threads, "{threads} threads");
        }
        // Many threads divide a coarse level with 27 rows and 20 slices, too.
        assert!(count(16, 27, 20, 0) >= 16 && count(16, 27, 20, 2) >= 8);
        // One thread computes no margins that it need not.
        assert!(count(1, 32, 20, 5) <= 2);
    }
}
