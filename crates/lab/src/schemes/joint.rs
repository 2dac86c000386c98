//! GPU algorithms for joint histograms of a pair of images.

use super::brosch::{self, CostModel};
use super::choice::{MiScheme, Settings};
use super::draft::Draft;
use super::pair::Pair;
use super::plan::{Grid, Plan, Slot, Value};
use super::{Histograms, bricks, segments};
use crate::Error;

/// Largest device memory, bytes, for an algorithm in which each thread or each thread block has its own joint
/// histogram. If these histograms would need more memory, fewer blocks run.
const MOST_SHADOWS: usize = 2 << 30;

/// Largest number of voxels that a block of the kernel `mi_bricks` counts. The kernel's 16-bit counters and its list of
/// bricks (boxes of 8×8×4 voxels) limit this number.
const BRICKS_MOST_VOXELS: usize = (1 << 16) - (1 << 11);

/// Number of voxels of a brick (a box of 8×8×4 voxels). Each thread checks whether one brick can be skipped.
const VOXELS_A_THREAD: usize = 256;

impl Histograms<'_> {
    /// Prepares a GPU algorithm for joint histograms of a pair of images.
    ///
    /// `previous` is an earlier, similar histogram. From it, the algorithm `Adaptive` chooses how many counters each
    /// bin gets. The algorithms `Slabs16` and `Slabs32` choose the bin that they count in registers.
    pub fn joint<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        scheme: MiScheme,
        settings: &Settings,
        previous: Option<&[u32]>,
    ) -> Result<Plan<'p>, Error> {
        let mut draft = Draft::new(self, pair, settings)?;
        let joint = draft.uninitialised::<u32>(pair.bins * pair.bins)?;
        draft.plan.results_in(joint);
        match scheme {
            MiScheme::GlobalAtomic => draft.global_atomic(joint)?,
            MiScheme::WarpShadows => draft.warp_shadows(joint)?,
            MiScheme::ThreadShadows => draft.thread_shadows(joint)?,
            MiScheme::SortCount => draft.sort_count(joint)?,
            MiScheme::Adaptive => draft.adaptive(joint, previous)?,
            MiScheme::Columns => draft.columns(joint)?,
            MiScheme::Rows => draft.rows(joint)?,
            MiScheme::Slabs32 => draft.slabs_joint(joint, 32, previous)?,
            MiScheme::Slabs16 => draft.slabs_joint(joint, 16, previous)?,
            MiScheme::Skipping => draft.skipping_joint(joint)?,
        }
        Ok(draft.plan)
    }
}

/// A joint histogram that is divided into parts of several rows, so that each part fits in shared memory. The kernel
/// reads the volume once for each part.
struct Parts {
    count: usize,
    /// Number of rows of the joint histogram in each part.
    rows: usize,
    /// Size of a part of the joint histogram in shared memory, bytes.
    shared: usize,
    threads: usize,
}

impl Parts {
    /// Divides a joint histogram with `bins` rows of `row` bytes into parts of at most `most` bytes, which fit in
    /// shared memory.
    fn of(bins: usize, row: usize, most: usize, settings: &Settings) -> Parts {
        let count = bins.div_ceil((most / row).clamp(1, bins));
        let rows = bins.div_ceil(count);
        let shared = (rows * row).next_multiple_of(4);
        // If a part of the histogram fills half of the shared memory, a multiprocessor runs only one thread block at a
        // time. Then the block gets more threads.
        let threads = if 2 * shared > most { 1024 } else { settings.threads.next_multiple_of(32) };
        Parts { count, rows, shared, threads }
    }

    fn grid(&self, blocks: usize) -> Grid {
        Grid { blocks: [blocks, self.count], threads: [self.threads, 1], shared: self.shared }
    }
}

impl Draft<'_> {
    /// Number of cells of the joint histogram: pairs of a fixed and a moving bin.
    fn cells(&self) -> usize {
        self.pair.bins * self.pair.bins
    }

    fn global_atomic(&mut self, joint: Slot) -> Result<(), Error> {
        let (kernel, threads) = (self.kernel("mi_global_atomic")?, self.settings.threads);
        let blocks = self.blocks(kernel, threads, 0)?;
        self.plan.clear(joint);
        // SAFETY: the array `joint` (the joint histogram) has a counter for each pair of a fixed and a moving bin.
        // Fixed bins are below `bins`, and moving bins are clamped.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, 0), [self.at(joint)]) };
        Ok(())
    }

    fn warp_shadows(&mut self, joint: Slot) -> Result<(), Error> {
        let (kernel, threads) = (self.kernel("mi_warp_shadows")?, self.settings.threads);
        let warps = threads.div_ceil(32);
        let range = (self.settings.shared / 4 / warps).clamp(1, self.cells());
        let shared = 4 * range * warps;
        let blocks = self.blocks(kernel, threads, shared)?;
        self.plan.clear(joint);
        for first in (0..self.cells()).step_by(range) {
            let values = [Value::Unsigned(first as u32), Value::Unsigned(range as u32), self.at(joint)];
            // SAFETY: `joint` has a counter for each pair of a fixed and a moving bin. Fixed bins are below `bins`, and
            // moving bins are clamped. In shared memory, each warp has counters for a range of the pairs of bins.
            unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), values) };
        }
        Ok(())
    }

    fn thread_shadows(&mut self, joint: Slot) -> Result<(), Error> {
        let (all, threads) = (self.cells(), self.settings.threads);
        // By eq. 10 of Shams 2010, the number of bits of a counter is b = s·32 / (B·N), for s words of shared memory, B
        // histogram bins and N threads of a block. It is rounded down to a divisor of the word length.
        let bits = self.settings.shared * 8 / (all * threads);
        let (name, per_word) = match bits {
            0 => ("mi_thread_shadows_0", None),
            1 => ("mi_thread_shadows_1", Some(32)),
            2 | 3 => ("mi_thread_shadows_2", Some(16)),
            4..=7 => ("mi_thread_shadows_4", Some(8)),
            _ => ("mi_thread_shadows_8", Some(4)),
        };
        let kernel = self.kernel(name)?;
        let shared = per_word.map_or(0, |bins| 4 * all.div_ceil(bins) * threads);
        let blocks = self.blocks(kernel, threads, shared)?.min((MOST_SHADOWS / (4 * all * threads)).max(1));
        let shadows = self.uninitialised::<u32>(blocks * threads * all)?;
        let left = self.uninitialised::<u32>(all)?;
        self.plan.clear(shadows);
        self.plan.clear(left);
        // SAFETY: in device memory, `shadows` has a joint histogram for each thread. In shared memory, each thread has
        // a counter of `bits` bits for each bin of its joint histogram.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), [self.at(shadows), self.at(left)]) };
        self.merge_counts(shadows, blocks * threads, Some(left), joint)
    }

    fn sort_count(&mut self, joint: Slot) -> Result<(), Error> {
        let (kernel, all) = (self.kernel("mi_sort_count")?, self.cells());
        // The sorting network needs a power of two as the number of threads.
        let threads = self.settings.threads.next_power_of_two();
        let shared = 8 * threads;
        let blocks = self.blocks(kernel, threads, shared)?.min((MOST_SHADOWS / (4 * all)).max(1));
        let partial = self.uninitialised::<u32>(blocks * all)?;
        self.plan.clear(partial);
        // SAFETY: `partial` has a histogram for each block. Shared memory has two elements (pairs of a bin and a count)
        // for each thread.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), [self.at(partial)]) };
        self.merge_counts(partial, blocks, None, joint)
    }

    fn adaptive(&mut self, joint: Slot, previous: Option<&[u32]>) -> Result<(), Error> {
        let (kernel, threads) = (self.kernel("mi_adaptive")?, self.settings.threads);
        // Costs for the cost model of Brosch 2009, relative to each other, from the latencies on current GPUs. Updates
        // of counters in global memory cost the most.
        let model = CostModel {
            global_update: 8.0,
            shared_collision: 1.0,
            global_collision: 8.0,
            sharing: threads as f64,
            threads: (self.settings.blocks.unwrap_or(1024) * threads) as f64,
            tagged: false,
        };
        let levels = match previous {
            Some(counts) if counts.len() == self.cells() => model.levels(counts, self.settings.shared),
            // Without an earlier histogram of similar images, no bin gets counters in shared memory.
            _ => vec![0; self.cells()],
        };
        let (table, bytes) = brosch::table(&levels);
        let words = bytes.div_ceil(4);
        let blocks = self.blocks(kernel, threads, 4 * words)?;
        let table = self.holding(&table)?;
        self.plan.clear(joint);
        let values = [self.at(table), Value::Unsigned(words as u32), self.at(joint)];
        // SAFETY: `table` has an entry for each bin of the joint histogram. The counters to which its entries point lie
        // within `words` words of shared memory.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, 4 * words), values) };
        Ok(())
    }

    fn columns(&mut self, joint: Slot) -> Result<(), Error> {
        let (kernel, reduce) = (self.kernel("mi_columns")?, self.kernel("sum_rows")?);
        let (all, threads) = (self.cells(), self.settings.threads);
        let blocks = self.blocks(kernel, threads, 0)?.min((MOST_SHADOWS / (4 * all * threads)).max(1));
        let width = blocks * threads;
        let columns = self.uninitialised::<u32>(width * all)?;
        self.plan.clear(columns);
        // SAFETY: `columns` has a row for each pair of a fixed and a moving bin. Each row has a counter for each
        // thread.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, 0), [self.at(columns)]) };
        // SAFETY: each GPU warp sums one row of the table `columns`. Warps with an index beyond the last row do
        // nothing.
        unsafe {
            self.launch_merge(reduce, Grid::of(all.div_ceil(8), 256, 0), [columns, joint], [all, width], None);
        }
        Ok(())
    }

    fn rows(&mut self, joint: Slot) -> Result<(), Error> {
        let (kernel, threads) = (self.kernel("mi_rows")?, self.settings.threads);
        let shared = 4 * self.pair.bins * threads.div_ceil(32);
        self.allow_shared(kernel, shared)?;
        let ([starts, sorted, bins], blocks) = self.sorted_segments()?;
        self.plan.clear(joint);
        let values = [starts, sorted, bins, joint].map(|slot| self.at(slot));
        // SAFETY: there is one thread block for each segment (group of sorted voxels with the same bin), and all
        // segments lie within the list `sorted`. Shared memory has a row of the joint histogram for each GPU warp of
        // the block.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), values) };
        Ok(())
    }

    fn slabs_joint(&mut self, joint: Slot, bits: usize, previous: Option<&[u32]>) -> Result<(), Error> {
        let kernel = self.kernel_for_source(match bits {
            16 => ["mi_slabs_16_given", "mi_slabs_16_exact", "mi_slabs_16_filtered"],
            _ => ["mi_slabs_32_given", "mi_slabs_32_exact", "mi_slabs_32_filtered"],
        })?;
        let bins = self.pair.bins;
        let parts = Parts::of(bins, bits / 8 * bins, self.most_shared(), &self.settings);
        let wanted = self.blocks_of_parts(kernel, parts.threads, parts.shared, parts.count)?;
        let slabs = segments::slabs(self.pair.volume.shape(), parts.threads);
        let blocks = segments::blocks_of_slabs(slabs, wanted, parts.threads);
        let fullest = previous.and_then(|counts| (0..counts.len()).max_by_key(|bin| counts[*bin]));
        self.plan.clear(joint);
        let values = [
            Value::Signed(parts.rows as i32),
            // Without an earlier histogram of similar images, the bin with the most voxels is unknown. `i32::MAX`
            // stands for no bin.
            Value::Signed(fullest.map_or(i32::MAX, |bin| bin as i32)),
            self.at(joint),
        ];
        // SAFETY: shared memory holds all rows of one part of the joint histogram. A block gets so few voxels that
        // 16-bit counters are enough. `joint` has a counter for each pair of a fixed and a moving bin.
        unsafe { self.launch(kernel, parts.grid(blocks), values) };
        Ok(())
    }

    fn skipping_joint(&mut self, joint: Slot) -> Result<(), Error> {
        let kernel = self.kernel_for_source(["mi_bricks_given", "mi_bricks_exact", "mi_bricks_filtered"])?;
        let (pair, bins) = (self.pair, self.pair.bins);
        // The kernel's list of bricks (boxes of voxels to process) is in shared memory, too. So there is less shared
        // memory for the histogram.
        let parts = Parts::of(bins, 2 * bins, self.most_shared() - (2 << 10), &self.settings);
        let wanted = self.blocks_of_parts(kernel, parts.threads, parts.shared, parts.count)?;
        let most_voxels = BRICKS_MOST_VOXELS.min(parts.threads * VOXELS_A_THREAD);
        let blocks = bricks::blocks(pair.volume.shape(), wanted, most_voxels);
        let tables = self.brick_tables()?;
        let column = pair.moving_bin(tables.common);
        let mut start = vec![0; self.cells()];
        let (in_bin, _) = pair.in_bins();
        in_bin.iter().zip(start.chunks_mut(bins)).for_each(|(voxels, row)| row[column] = *voxels);
        let start = self.holding(&start)?;
        self.plan.copy(joint, start);
        let values = [Value::Bricks(tables), Value::Signed(parts.rows as i32), self.at(joint)];
        // SAFETY: shared memory holds all rows of one part of the joint histogram. A block gets so few voxels that
        // 16-bit counters are enough, and no more bricks (boxes of voxels) than it has threads. `joint` has a counter
        // for each pair of a fixed and a moving bin.
        unsafe { self.launch(kernel, parts.grid(blocks), values) };
        Ok(())
    }

    /// Adds the launch of a kernel to the list of steps. The kernel adds up the `count` histograms in `rows`, plus the
    /// further histogram `left` if one is given, and writes the sum to `joint`.
    fn merge_counts(&mut self, rows: Slot, count: usize, left: Option<Slot>, joint: Slot) -> Result<(), Error> {
        let (kernel, width) = (self.kernel("merge_counts")?, self.cells());
        let grid = Grid { blocks: [width.div_ceil(32), 1], threads: [32, 32], shared: 0 };
        let left = left.map_or(Value::Address(0), |slot| self.at(slot));
        // SAFETY: the input `rows` has `count` histograms of `width` counters. `left` is one further histogram, or null
        // for none. `joint`, which receives the sum of all these histograms, has `width` counters.
        unsafe { self.launch_merge(kernel, grid, [rows, joint], [count, width], Some(left)) };
        Ok(())
    }
}
