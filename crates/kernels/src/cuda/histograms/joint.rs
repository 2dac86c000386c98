//! The schemes for joint histograms.

use super::bricks;
use super::brosch::{self, CostModel};
use super::pair::{Pair, Source};
use super::plan::{Grid, Memory, Plan, Slot, Value};
use super::scheme::{MiScheme, Settings};
use super::{Histograms, segments};
use crate::Error;
use crate::cuda::buffer::Buffer;

/// Device memory that copies of a histogram for every thread or block may take, bytes; there are fewer of them where they
/// would take more.
const MOST_SHADOWS: usize = 2 << 30;

/// The most voxels of a block of `mi_bricks`: 16-bit counters, and bricks as its list holds.
const BRICKS_MOST_VOXELS: usize = (1 << 16) - (1 << 11);

/// Voxels of a brick, which a thread looks at.
const VOXELS_A_THREAD: usize = 256;

impl Histograms<'_> {
    /// Makes a scheme ready. `previous`: counts of an earlier, similar histogram, if there is one; the adaptive scheme lays
    /// out its counters by it, the tiled ones count its fullest bin in registers.
    pub fn joint<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        scheme: MiScheme,
        settings: &Settings,
        previous: Option<&[u32]>,
    ) -> Result<Plan<'p>, Error> {
        let mut plan = self.plan(pair.bins)?;
        let counts = Buffer::uninitialised(self.device(), pair.bins * pair.bins)?;
        let joint = plan.keep(Memory::Words(counts));
        plan.results_in(joint);
        match scheme {
            MiScheme::GlobalAtomic => self.global_atomic(&mut plan, pair, settings, joint)?,
            MiScheme::WarpShadows => self.warp_shadows(&mut plan, pair, settings, joint)?,
            MiScheme::ThreadShadows => self.thread_shadows(&mut plan, pair, settings, joint)?,
            MiScheme::SortCount => self.sort_count(&mut plan, pair, settings, joint)?,
            MiScheme::Adaptive => self.adaptive(&mut plan, pair, settings, joint, previous)?,
            MiScheme::Columns => self.columns(&mut plan, pair, settings, joint)?,
            MiScheme::Rows => self.rows(&mut plan, pair, settings, joint)?,
            MiScheme::Slabs32 => self.slabs_joint(&mut plan, pair, settings, joint, 32, previous)?,
            MiScheme::Slabs16 => self.slabs_joint(&mut plan, pair, settings, joint, 16, previous)?,
            MiScheme::Skipping => self.skipping_joint(&mut plan, pair, settings, joint)?,
        }
        Ok(plan)
    }

    fn global_atomic<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("mi_global_atomic")?;
        let blocks = settings.blocks.map_or_else(|| self.resident(kernel, settings.threads, 0), Ok)?;
        plan.clear(joint);
        let values = vec![Value::Pair(pair.operands), plan.address(joint)];
        // SAFETY: `joint` has a counter for each pair of bins; the fixed bins are below `bins`, the moving ones are clamped.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, 0), values) };
        Ok(())
    }

    fn warp_shadows<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("mi_warp_shadows")?;
        let all = pair.bins * pair.bins;
        let range = (settings.shared / 4 / settings.threads.div_ceil(32)).clamp(1, all);
        let shared = 4 * range * settings.threads.div_ceil(32);
        let resident = self.resident(kernel, settings.threads, shared)?;
        let blocks = settings.blocks.unwrap_or(resident);
        plan.clear(joint);
        for first in (0..all).step_by(range) {
            let sizes = [Value::Unsigned(first as u32), Value::Unsigned(range as u32)];
            let values =
                std::iter::once(Value::Pair(pair.operands)).chain(sizes).chain([plan.address(joint)]).collect();
            // SAFETY: as above; shared memory has a range for each warp.
            unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        }
        Ok(())
    }

    fn thread_shadows<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let all = pair.bins * pair.bins;
        // b = s·32 / (B·N), eq. 10 of Shams 2010, down to what a word divides into.
        let bits = settings.shared * 8 / (all * settings.threads);
        let (name, per_word) = match bits {
            0 => ("mi_thread_shadows_0", None),
            1 => ("mi_thread_shadows_1", Some(32)),
            2 | 3 => ("mi_thread_shadows_2", Some(16)),
            4..=7 => ("mi_thread_shadows_4", Some(8)),
            _ => ("mi_thread_shadows_8", Some(4)),
        };
        let kernel = self.kernels.get(name)?;
        let shared = per_word.map_or(0, |bins| 4 * all.div_ceil(bins) * settings.threads);
        let resident = self.resident(kernel, settings.threads, shared)?;
        let most = (MOST_SHADOWS / (4 * all * settings.threads)).max(1);
        let blocks = settings.blocks.unwrap_or(resident).min(most);
        let shadows = self.counters(plan, blocks * settings.threads * all)?;
        let left = self.counters(plan, all)?;
        plan.clear(shadows);
        plan.clear(left);
        let values = vec![Value::Pair(pair.operands), plan.address(shadows), plan.address(left)];
        // SAFETY: `shadows` has a histogram for each thread, shared memory `bits` bits for each of its bins.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        self.merge_counts(plan, shadows, blocks * settings.threads, all, Some(left), joint)
    }

    fn sort_count<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("mi_sort_count")?;
        let all = pair.bins * pair.bins;
        // The network needs a power of two.
        let threads = settings.threads.next_power_of_two();
        let shared = 8 * threads;
        let resident = self.resident(kernel, threads, shared)?;
        let blocks = settings.blocks.unwrap_or(resident).min((MOST_SHADOWS / (4 * all)).max(1));
        let partial = self.counters(plan, blocks * all)?;
        plan.clear(partial);
        let values = vec![Value::Pair(pair.operands), plan.address(partial)];
        // SAFETY: `partial` has a histogram for each block, shared memory two elements for each thread.
        unsafe { plan.launch(kernel, Grid::of(blocks, threads, shared), values) };
        self.merge_counts(plan, partial, blocks, all, None, joint)
    }

    fn adaptive<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
        previous: Option<&[u32]>,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("mi_adaptive")?;
        let all = pair.bins * pair.bins;
        // Global updates cost the most; the ratios are those of latencies on current devices.
        let model = CostModel {
            global_update: 8.0,
            shared_collision: 1.0,
            global_collision: 8.0,
            sharing: settings.threads as f64,
            threads: (settings.blocks.unwrap_or(1024) * settings.threads) as f64,
            tagged: false,
        };
        let levels = match previous {
            Some(counts) if counts.len() == all => model.levels(counts, settings.shared),
            // The first histogram is made without counters in shared memory.
            _ => vec![0; all],
        };
        let (table, bytes) = brosch::table(&levels);
        let words = bytes.div_ceil(4);
        let resident = self.resident(kernel, settings.threads, 4 * words)?;
        let blocks = settings.blocks.unwrap_or(resident);
        let table = plan.keep(Memory::Words(Buffer::from_slice(self.device(), &table)?));
        plan.clear(joint);
        let values =
            vec![Value::Pair(pair.operands), plan.address(table), Value::Unsigned(words as u32), plan.address(joint)];
        // SAFETY: `table` has an entry a bin, whose counters lie within `words` of shared memory.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, 4 * words), values) };
        Ok(())
    }

    fn columns<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let (kernel, reduce) = (self.kernels.get("mi_columns")?, self.kernels.get("sum_rows")?);
        let all = pair.bins * pair.bins;
        let resident = self.resident(kernel, settings.threads, 0)?;
        let most = (MOST_SHADOWS / (4 * all * settings.threads)).max(1);
        let blocks = settings.blocks.unwrap_or(resident).min(most);
        let width = blocks * settings.threads;
        let columns = self.counters(plan, width * all)?;
        plan.clear(columns);
        let values = vec![Value::Pair(pair.operands), plan.address(columns)];
        // SAFETY: `columns` has a row of all threads for each pair of bins.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, 0), values) };
        let sizes = [Value::Unsigned(all as u32), Value::Unsigned(width as u32)];
        let values = std::iter::once(plan.address(columns)).chain(sizes).chain([plan.address(joint)]).collect();
        // SAFETY: a warp a row; warps beyond the last row do nothing.
        unsafe { plan.launch(reduce, Grid::of(all.div_ceil(8), 256, 0), values) };
        Ok(())
    }

    fn rows<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("mi_rows")?;
        let shared = 4 * pair.bins * settings.threads.div_ceil(32);
        self.allow_shared(kernel, shared)?;
        let [starts, sorted, bins, blocks] = self.sorted_segments(plan, pair, settings)?;
        plan.clear(joint);
        let mut values = vec![Value::Pair(pair.operands)];
        values.extend([starts, sorted, bins, joint].map(|slot| plan.address(slot)));
        // SAFETY: one block a segment, which lies within `sorted`; shared memory has a row for each warp.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        Ok(())
    }

    fn slabs_joint<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
        bits: usize,
        previous: Option<&[u32]>,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get(match (bits, pair.source) {
            (16, Source::Given) => "mi_slabs_16_given",
            (16, Source::Exact) => "mi_slabs_16_exact",
            (16, Source::Filtered) => "mi_slabs_16_filtered",
            (_, Source::Given) => "mi_slabs_32_given",
            (_, Source::Exact) => "mi_slabs_32_exact",
            (_, Source::Filtered) => "mi_slabs_32_filtered",
        })?;
        // As many rows as shared memory holds; the volume is gone through once for each such part of the histogram.
        let row = bits / 8 * pair.bins;
        let parts = pair.bins.div_ceil((self.most_shared / row).clamp(1, pair.bins));
        let rows = pair.bins.div_ceil(parts);
        let shared = (rows * row).next_multiple_of(4);
        // One block fills a multiprocessor if its histogram does.
        let threads = if 2 * shared > self.most_shared { 1024 } else { settings.threads.next_multiple_of(32) };
        let resident = (self.resident(kernel, threads, shared)? / parts).max(1);
        let slabs = segments::slabs(pair.volume.shape(), threads);
        let blocks = segments::blocks_of_slabs(slabs, settings.blocks.unwrap_or(resident), threads);
        let fullest = previous.and_then(|counts| (0..counts.len()).max_by_key(|bin| counts[*bin]));
        plan.clear(joint);
        let values = vec![
            Value::Pair(pair.operands),
            Value::Signed(rows as i32),
            // Without an earlier histogram none: no bin is the last one a 32-bit number can name.
            Value::Signed(fullest.map_or(i32::MAX, |bin| bin as i32)),
            plan.address(joint),
        ];
        let grid = Grid { blocks: [blocks, parts], threads: [threads, 1], shared };
        // SAFETY: shared memory holds the rows of a part; blocks take so few voxels that 16 bits are enough; `joint` as above.
        unsafe { plan.launch(kernel, grid, values) };
        Ok(())
    }

    fn skipping_joint<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        pair: &Pair<'_>,
        settings: &Settings,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get(match pair.source {
            Source::Given => "mi_bricks_given",
            Source::Exact => "mi_bricks_exact",
            Source::Filtered => "mi_bricks_filtered",
        })?;
        let row = 2 * pair.bins;
        // The kernel's own list is in shared memory as well.
        let most = self.most_shared - (2 << 10);
        let parts = pair.bins.div_ceil((most / row).clamp(1, pair.bins));
        let rows = pair.bins.div_ceil(parts);
        let shared = (rows * row).next_multiple_of(4);
        let threads = if 2 * shared > most { 1024 } else { settings.threads.next_multiple_of(32) };
        let resident = (self.resident(kernel, threads, shared)? / parts).max(1);
        let wanted = settings.blocks.unwrap_or(resident);
        let blocks = bricks::blocks(pair.volume.shape(), wanted, BRICKS_MOST_VOXELS.min(threads * VOXELS_A_THREAD));
        let tables = self.brick_tables(plan, pair)?;
        let column = pair.moving_bin(tables.common);
        let mut start = vec![0; pair.bins * pair.bins];
        let (in_bin, _) = pair.in_bins();
        in_bin.iter().zip(start.chunks_mut(pair.bins)).for_each(|(voxels, row)| row[column] = *voxels);
        let start = plan.keep(Memory::Words(Buffer::from_slice(self.device(), &start)?));
        plan.copy(joint, start);
        let values =
            vec![Value::Pair(pair.operands), Value::Bricks(tables), Value::Signed(rows as i32), plan.address(joint)];
        let grid = Grid { blocks: [blocks, parts], threads: [threads, 1], shared };
        // SAFETY: shared memory holds the rows of a part; blocks take so few voxels that 16 bits are enough, and no more bricks
        // than threads; `joint` as above.
        unsafe { plan.launch(kernel, grid, values) };
        Ok(())
    }

    fn counters(&self, plan: &mut Plan<'_>, count: usize) -> Result<Slot, Error> {
        Ok(plan.keep(Memory::Words(Buffer::uninitialised(self.device(), count)?)))
    }

    /// Adds rows of counts up, and those in `left` to them.
    fn merge_counts<'p>(
        &'p self,
        plan: &mut Plan<'p>,
        rows: Slot,
        count: usize,
        width: usize,
        left: Option<Slot>,
        joint: Slot,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get("merge_counts")?;
        let grid = Grid { blocks: [width.div_ceil(32), 1], threads: [32, 32], shared: 0 };
        let left = left.map_or(Value::Address(0), |slot| plan.address(slot));
        let sizes = [Value::Unsigned(count as u32), Value::Unsigned(width as u32)];
        let values = std::iter::once(plan.address(rows)).chain(sizes).chain([left, plan.address(joint)]).collect();
        // SAFETY: `rows` has `count` rows of `width`, `left` one or none, `joint` one.
        unsafe { plan.launch(kernel, grid, values) };
        Ok(())
    }
}
