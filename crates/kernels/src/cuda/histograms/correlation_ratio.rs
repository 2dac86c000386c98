//! The schemes for Σw, Σw·y and Σw·y² of each fixed bin.

use super::bricks::{self, BrickTables};
use super::pair::{Pair, Source};
use super::plan::{Grid, Memory, Plan, Slot, TileTables, Value};
use super::scheme::{CrScheme, Settings};
use super::segments::Segments;
use super::tiles::{TILE_VOXELS, Tiles};
use super::{Histograms, segments};
use crate::Error;
use crate::cuda::buffer::Buffer;
use crate::cuda::launch::Size;

/// Threads of a block of `cr_tiled`.
const TILED_THREADS: usize = 256;

/// Threads of a block of `cr_slabs`.
const SLABS_THREADS: usize = 256;

/// Threads of a block of `cr_bricks`.
const BRICKS_THREADS: usize = 512;

/// The most voxels of such a block: each adds at most 2¹⁶ to a sum of 31 bits.
const BRICKS_MOST_VOXELS: usize = (1 << 15) - (1 << 11);

/// Slices that many rows are first merged into, so that many multiprocessors share the work.
const SLICES: usize = 32;

impl Histograms<'_> {
    /// Makes a scheme ready.
    pub fn correlation_ratio<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        scheme: CrScheme,
        settings: &Settings,
    ) -> Result<Plan<'p>, Error> {
        match scheme {
            CrScheme::GlobalAtomic => self.adding(pair, settings, "cr_global_atomic", 0),
            CrScheme::GlobalAtomicDouble => self.adding(pair, settings, "cr_global_atomic_double", 0),
            CrScheme::SharedAtomic => self.adding(pair, settings, "cr_shared_atomic", 12 * pair.bins),
            CrScheme::GlobalMerge => self.merging(pair, settings, "cr_global_shadows", 0),
            CrScheme::SharedMerge => self.merging(pair, settings, "cr_shared_rows", 12 * pair.bins),
            CrScheme::SharedWarp => {
                self.merging(pair, settings, "cr_warp_rows", 12 * pair.bins * settings.threads.div_ceil(32))
            }
            CrScheme::ConflictFree => self.conflict_free(pair, settings),
            CrScheme::Tiled => self.tiled(pair, settings),
            CrScheme::Slabs => self.slabs(pair, settings),
            CrScheme::Skipping => self.skipping(pair, settings),
        }
    }

    /// Blocks that add to one histogram.
    fn adding<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        settings: &Settings,
        name: &'static str,
        shared: usize,
    ) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get(name)?;
        let blocks = settings.blocks.map_or_else(|| self.resident(kernel, settings.threads, shared), Ok)?;
        self.allow_shared(kernel, shared)?;
        let mut plan = self.plan(pair.bins)?;
        let sums = plan.keep(match name {
            "cr_global_atomic_double" => Memory::Doubles(Buffer::uninitialised(self.device(), 3 * pair.bins)?),
            _ => Memory::Singles(Buffer::uninitialised(self.device(), 3 * pair.bins)?),
        });
        plan.clear(sums);
        let values = vec![Value::Pair(pair.operands), Value::Signed(pair.bins as i32), plan.address(sums)];
        // SAFETY: `sums` has three numbers a bin, of the kernel's type; fixed bins are below `bins`.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        plan.results_in(sums);
        Ok(plan)
    }

    /// A row for each block or thread, merged afterwards.
    fn merging<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        settings: &Settings,
        name: &'static str,
        shared: usize,
    ) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get(name)?;
        let blocks = settings.blocks.map_or_else(|| self.resident(kernel, settings.threads, shared), Ok)?;
        self.allow_shared(kernel, shared)?;
        let a_thread = name == "cr_global_shadows";
        let count = if a_thread { blocks * settings.threads } else { blocks };
        let mut plan = self.plan(pair.bins)?;
        let rows = plan.keep(Memory::Singles(Buffer::uninitialised(self.device(), count * 3 * pair.bins)?));
        if a_thread {
            plan.clear(rows);
        }
        let values = vec![Value::Pair(pair.operands), Value::Signed(pair.bins as i32), plan.address(rows)];
        // SAFETY: `rows` has three numbers a bin for each block, or for each thread.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        self.merge_sums(&mut plan, rows, count, 3 * pair.bins)?;
        Ok(plan)
    }

    fn conflict_free<'p>(&'p self, pair: &'p Pair<'_>, settings: &Settings) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get("cr_conflict_free")?;
        let mut plan = self.plan(pair.bins)?;
        let [starts, sorted, bins, blocks] = self.sorted_segments(&mut plan, pair, settings)?;
        let sums = plan.keep(Memory::Singles(Buffer::uninitialised(self.device(), 3 * pair.bins)?));
        plan.clear(sums);
        let mut values = vec![Value::Pair(pair.operands), Value::Signed(pair.bins as i32)];
        values.extend([starts, sorted, bins, sums].map(|slot| plan.address(slot)));
        let shared = 3 * 4 * settings.threads;
        // SAFETY: one block a segment, which lies within `sorted`; three shared floats a thread; bins as above.
        unsafe { plan.launch(kernel, Grid::of(blocks, settings.threads, shared), values) };
        plan.results_in(sums);
        Ok(plan)
    }

    /// Starts of segments, sorted voxels, bins of segments, as slots; and how many segments there are.
    pub(super) fn sorted_segments(
        &self,
        plan: &mut Plan<'_>,
        pair: &Pair<'_>,
        settings: &Settings,
    ) -> Result<[Slot; 4], Error> {
        let sorted = self.sorted(pair, settings.order)?;
        let segments = Segments::new(&sorted.host, &pair.voxel_bins, settings.segment);
        let starts = plan.keep(Memory::Words(Buffer::from_slice(self.device(), &segments.starts)?));
        let bins = plan.keep(Memory::Words(Buffer::from_slice(self.device(), &segments.bins)?));
        Ok([starts, plan.keep(Memory::Sorted(sorted)), bins, segments.bins.len()])
    }

    fn tiled<'p>(&'p self, pair: &'p Pair<'_>, settings: &Settings) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get(match pair.source {
            Source::Given => "cr_tiled_given",
            Source::Exact => "cr_tiled_exact",
            Source::Filtered => "cr_tiled_filtered",
        })?;
        let tiles = Tiles::new(pair.volume.shape(), &pair.voxel_bins, pair.bins);
        let shared = 4 * (2 * TILE_VOXELS + 3 * pair.bins + 3 * tiles.most_pieces);
        let resident = self.resident(kernel, TILED_THREADS, shared)?;
        let count = tiles.first_piece.len() - 1;
        let blocks = settings.blocks.unwrap_or(resident).min(count);
        let mut plan = self.plan(pair.bins)?;
        let device = self.device();
        let places = plan.keep(Memory::Halves(Buffer::from_slice(device, &tiles.places)?));
        let pieces = plan.keep(Memory::Halves(Buffer::from_slice(device, &tiles.pieces)?));
        let first_piece = plan.keep(Memory::Words(Buffer::from_slice(device, &tiles.first_piece)?));
        let bin_pieces = plan.keep(Memory::Halves(Buffer::from_slice(device, &tiles.bin_pieces)?));
        let rows = plan.keep(Memory::Singles(Buffer::uninitialised(device, blocks * 3 * pair.bins)?));
        let tables = TileTables {
            places: plan.pointer(places),
            pieces: plan.pointer(pieces),
            first_piece: plan.pointer(first_piece),
            bin_pieces: plan.pointer(bin_pieces),
            count: count as u32,
            most_pieces: tiles.most_pieces as i32,
        };
        let values = vec![
            Value::Pair(pair.operands),
            Value::Signed(pair.bins as i32),
            Value::Tiles(tables),
            plan.address(rows),
        ];
        // SAFETY: the tables cover every tile of the fixed volume; shared memory holds values and weights of a tile, three
        // sums a bin and three a piece; `rows` has a row for each block.
        unsafe { plan.launch(kernel, Grid::of(blocks, TILED_THREADS, shared), values) };
        self.merge_sums(&mut plan, rows, blocks, 3 * pair.bins)?;
        Ok(plan)
    }

    fn slabs<'p>(&'p self, pair: &'p Pair<'_>, settings: &Settings) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get(match pair.source {
            Source::Given => "cr_slabs_given",
            Source::Exact => "cr_slabs_exact",
            Source::Filtered => "cr_slabs_filtered",
        })?;
        let shared = 12 * pair.bins;
        let resident = self.resident(kernel, SLABS_THREADS, shared)?;
        let slabs = segments::slabs(pair.volume.shape(), SLABS_THREADS);
        let blocks = segments::blocks_of_slabs(slabs, settings.blocks.unwrap_or(resident), SLABS_THREADS);
        let mut plan = self.plan(pair.bins)?;
        let totals = plan.keep(Memory::Words(Buffer::zeroed(self.device(), 2 * 3 * pair.bins)?));
        let finished = plan.keep(Memory::Words(Buffer::zeroed(self.device(), 1)?));
        let sums = plan.keep(Memory::Doubles(Buffer::uninitialised(self.device(), 3 * pair.bins)?));
        let (_, fullest) = pair.in_bins();
        let mut values = vec![
            Value::Pair(pair.operands),
            Value::Signed(pair.bins as i32),
            Value::Signed(fullest as i32),
            Value::Float(pair.per_range),
        ];
        values.extend([totals, finished, sums].map(|slot| plan.address(slot)));
        // SAFETY: `totals` has three 64-bit sums a bin and `sums` three doubles, shared memory three words; every run leaves
        // `totals` and `finished` at zero.
        unsafe { plan.launch(kernel, Grid::of(blocks, SLABS_THREADS, shared), values) };
        plan.results_in(sums);
        Ok(plan)
    }

    fn skipping<'p>(&'p self, pair: &'p Pair<'_>, settings: &Settings) -> Result<Plan<'p>, Error> {
        let kernel = self.kernels.get(match pair.source {
            Source::Given => "cr_bricks_given",
            Source::Exact => "cr_bricks_exact",
            Source::Filtered => "cr_bricks_filtered",
        })?;
        let shared = 8 * pair.bins;
        let resident = self.resident(kernel, BRICKS_THREADS, shared)?;
        let wanted = settings.blocks.unwrap_or(resident);
        let blocks = bricks::blocks(pair.volume.shape(), wanted, BRICKS_MOST_VOXELS);
        let mut plan = self.plan(pair.bins)?;
        let (in_bin, _) = pair.in_bins();
        let tables = self.brick_tables(&mut plan, pair)?;
        let in_bin = plan.keep(Memory::Words(Buffer::from_slice(self.device(), &in_bin)?));
        let totals = plan.keep(Memory::Words(Buffer::zeroed(self.device(), 2 * (2 * pair.bins + 1))?));
        let finished = plan.keep(Memory::Words(Buffer::zeroed(self.device(), 1)?));
        let sums = plan.keep(Memory::Doubles(Buffer::uninitialised(self.device(), 2 * pair.bins + 1)?));
        let mut values = vec![
            Value::Pair(pair.operands),
            Value::Bricks(tables),
            Value::Signed(pair.bins as i32),
            Value::Float(pair.per_range),
        ];
        values.extend([in_bin, totals, finished, sums].map(|slot| plan.address(slot)));
        // SAFETY: the tables cover the fixed volume and the moving one; `totals` has two 64-bit sums a bin and one more, `sums`
        // as many doubles, shared memory two words a bin; every run leaves `totals` and `finished` at zero.
        unsafe { plan.launch(kernel, Grid::of(blocks, BRICKS_THREADS, shared), values) };
        plan.results_in(sums);
        Ok(plan)
    }

    /// Brings to the device what the kernels that skip bricks look up.
    pub(super) fn brick_tables(&self, plan: &mut Plan<'_>, pair: &Pair<'_>) -> Result<BrickTables, Error> {
        let shape = pair.volume.shape();
        let placed = bricks::in_bricks(shape, &pair.voxel_bins);
        let fixed = plan.keep(Memory::Halves(Buffer::from_slice(self.device(), &placed)?));
        let distance = plan.keep(Memory::Halves(Buffer::from_slice(self.device(), &pair.emptiness.distance)?));
        let (_, hot) = pair.in_bins();
        Ok(BrickTables {
            fixed: plan.pointer(fixed),
            distance: plan.pointer(distance),
            count: Size::of(bricks::count(shape)),
            cells: Size::of(pair.emptiness.cells),
            common: pair.emptiness.common,
            hot: hot as i32,
        })
    }

    /// Adds rows of single precision up in double precision, in a fixed order.
    fn merge_sums<'p>(&'p self, plan: &mut Plan<'p>, rows: Slot, count: usize, width: usize) -> Result<(), Error> {
        let grid = |slices| Grid { blocks: [width.div_ceil(32), slices], threads: [32, 32], shared: 0 };
        let slices = SLICES.min(count);
        let parts = plan.keep(Memory::Doubles(Buffer::uninitialised(self.device(), slices * width)?));
        let sums = plan.keep(Memory::Doubles(Buffer::uninitialised(self.device(), width)?));
        for (kernel, from, count, slices, to) in
            [("merge_sums", rows, count, slices, parts), ("merge_parts", parts, slices, 1, sums)]
        {
            let sizes = [Value::Unsigned(count as u32), Value::Unsigned(width as u32)];
            let values = std::iter::once(plan.address(from)).chain(sizes).chain([plan.address(to)]).collect();
            // SAFETY: `from` has `count` rows of `width`, `to` one for each slice.
            unsafe { plan.launch(self.kernels.get(kernel)?, grid(slices), values) };
        }
        plan.results_in(sums);
        Ok(())
    }
}
