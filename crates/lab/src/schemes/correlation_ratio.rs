//! GPU algorithms for the sums of the correlation ratio: Σw, Σw·y and Σw·y² over the voxels of each fixed bin, where y
//! is the moving value and w its weight.

use super::choice::{CrScheme, Settings};
use super::draft::Draft;
use super::pair::Pair;
use super::plan::{Grid, Plan, Slot, TileTables, Value};
use super::tiles::{TILE_VOXELS, Tiles};
use super::{Histograms, bricks, segments};
use crate::Error;

/// Number of threads of a block of the CUDA kernel `cr_tiled`, which computes the sums of the correlation ratio.
const TILED_THREADS: usize = 256;

/// Number of threads of a block of the CUDA kernel `cr_slabs`, which computes the sums of the correlation ratio.
const SLABS_THREADS: usize = 256;

/// Number of threads of a block of the CUDA kernel `cr_bricks`, which computes the sums of the correlation ratio.
const BRICKS_THREADS: usize = 512;

/// Largest number of voxels that a block of the kernel `cr_bricks` adds up. Each voxel adds at most 2¹⁶ to an integer
/// sum, and the sum must stay below 2³¹.
const BRICKS_MOST_VOXELS: usize = (1 << 15) - (1 << 11);

/// The sums of all thread blocks or threads, one row each, are added up in two steps. This is the number of partial
/// results after the first step. Several partial results let many multiprocessors share the work.
const SLICES: usize = 32;

impl Histograms<'_> {
    /// Prepares a GPU algorithm for the sums of the correlation ratio of a pair of images.
    pub fn correlation_ratio<'p>(
        &'p self,
        pair: &'p Pair<'_>,
        scheme: CrScheme,
        settings: &Settings,
    ) -> Result<Plan<'p>, Error> {
        let mut draft = Draft::new(self, pair, settings)?;
        // Bytes of the sums of all bins: a bin has the three sums Σw, Σw·y and Σw·y², of four bytes each.
        let row = 12 * pair.bins;
        let result = match scheme {
            CrScheme::GlobalAtomic => draft.adding("cr_global_atomic", 0)?,
            CrScheme::GlobalAtomicDouble => draft.adding("cr_global_atomic_double", 0)?,
            CrScheme::SharedAtomic => draft.adding("cr_shared_atomic", row)?,
            CrScheme::GlobalMerge => draft.merging("cr_global_shadows", 0)?,
            CrScheme::SharedMerge => draft.merging("cr_shared_rows", row)?,
            CrScheme::SharedWarp => draft.merging("cr_warp_rows", row * settings.threads.div_ceil(32))?,
            CrScheme::ConflictFree => draft.conflict_free()?,
            CrScheme::Tiled => draft.tiled()?,
            CrScheme::Slabs => draft.slabs()?,
            CrScheme::Skipping => draft.skipping()?,
        };
        draft.plan.results_in(result);
        Ok(draft.plan)
    }
}

impl Draft<'_> {
    fn bins(&self) -> Value {
        Value::Signed(self.pair.bins as i32)
    }

    /// Prepares an algorithm for the correlation ratio in which all thread blocks add to the same table of the sums Σw,
    /// Σw·y and Σw·y².
    fn adding(&mut self, name: &'static str, shared: usize) -> Result<Slot, Error> {
        let (kernel, threads) = (self.kernel(name)?, self.settings.threads);
        let blocks = self.blocks(kernel, threads, shared)?;
        let sums = match name {
            "cr_global_atomic_double" => self.uninitialised::<f64>(3 * self.pair.bins)?,
            _ => self.uninitialised::<f32>(3 * self.pair.bins)?,
        };
        self.plan.clear(sums);
        // SAFETY: `sums` has three numbers (Σw, Σw·y, Σw·y²) for each bin, of the kernel's number type. The bins of all
        // fixed voxels are below `bins`.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), [self.bins(), self.at(sums)]) };
        Ok(sums)
    }

    /// Prepares an algorithm in which each thread block or each thread has its own row of sums. The rows are added up
    /// afterwards.
    fn merging(&mut self, name: &'static str, shared: usize) -> Result<Slot, Error> {
        let (kernel, threads) = (self.kernel(name)?, self.settings.threads);
        let blocks = self.blocks(kernel, threads, shared)?;
        let a_thread = name == "cr_global_shadows";
        let count = if a_thread { blocks * threads } else { blocks };
        let rows = self.uninitialised::<f32>(count * 3 * self.pair.bins)?;
        if a_thread {
            self.plan.clear(rows);
        }
        // SAFETY: `rows` has three numbers (Σw, Σw·y, Σw·y²) for each bin, for each block or, with `cr_global_shadows`,
        // for each thread. The bins of all fixed voxels are below `bins`.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, shared), [self.bins(), self.at(rows)]) };
        self.merge_sums(rows, count)
    }

    fn conflict_free(&mut self) -> Result<Slot, Error> {
        let (kernel, threads) = (self.kernel("cr_conflict_free")?, self.settings.threads);
        let ([starts, sorted, bins], blocks) = self.sorted_segments()?;
        let sums = self.uninitialised::<f32>(3 * self.pair.bins)?;
        self.plan.clear(sums);
        let values = [self.bins(), self.at(starts), self.at(sorted), self.at(bins), self.at(sums)];
        // SAFETY: there is one thread block for each segment (group of sorted voxels with the same bin), and all
        // segments lie within the list `sorted`. Shared memory has three floats for each thread. `sums` has three
        // numbers for each bin, and all fixed bins are below `bins`.
        unsafe { self.launch(kernel, Grid::of(blocks, threads, 3 * 4 * threads), values) };
        Ok(sums)
    }

    fn tiled(&mut self) -> Result<Slot, Error> {
        let kernel = self.kernel_for_source(["cr_tiled_given", "cr_tiled_exact", "cr_tiled_filtered"])?;
        let bins = self.pair.bins;
        let tiles = Tiles::new(self.pair.volume.shape(), &self.pair.voxel_bins, bins);
        let shared = 4 * (2 * TILE_VOXELS + 3 * bins + 3 * tiles.most_pieces);
        let count = tiles.first_piece.len() - 1;
        let blocks = self.blocks(kernel, TILED_THREADS, shared)?.min(count);
        let places = self.holding(&tiles.places)?;
        let pieces = self.holding(&tiles.pieces)?;
        let first_piece = self.holding(&tiles.first_piece)?;
        let bin_pieces = self.holding(&tiles.bin_pieces)?;
        let rows = self.uninitialised::<f32>(blocks * 3 * bins)?;
        let tables = TileTables {
            places: self.plan.pointer(places),
            pieces: self.plan.pointer(pieces),
            first_piece: self.plan.pointer(first_piece),
            bin_pieces: self.plan.pointer(bin_pieces),
            count: count as u32,
            most_pieces: tiles.most_pieces as i32,
        };
        let values = [self.bins(), Value::Tiles(tables), self.at(rows)];
        // SAFETY: the tables cover every tile (box of 32×8×8 voxels) of the fixed volume. Shared memory holds the
        // values and weights of a tile, and three sums for each bin and for each piece (sorted voxels that one thread
        // adds up). `rows` has a row for each block.
        unsafe { self.launch(kernel, Grid::of(blocks, TILED_THREADS, shared), values) };
        self.merge_sums(rows, blocks)
    }

    fn slabs(&mut self) -> Result<Slot, Error> {
        let kernel = self.kernel_for_source(["cr_slabs_given", "cr_slabs_exact", "cr_slabs_filtered"])?;
        let (pair, bins) = (self.pair, self.pair.bins);
        let shared = 12 * bins;
        let wanted = self.blocks(kernel, SLABS_THREADS, shared)?;
        let slabs = segments::slabs(pair.volume.shape(), SLABS_THREADS);
        let blocks = segments::blocks_of_slabs(slabs, wanted, SLABS_THREADS);
        let totals = self.zeroed::<u32>(2 * 3 * bins)?;
        let finished = self.zeroed::<u32>(1)?;
        let sums = self.uninitialised::<f64>(3 * bins)?;
        let (_, fullest) = pair.in_bins();
        let values = [
            self.bins(),
            Value::Signed(fullest as i32),
            Value::Float(pair.per_range),
            self.at(totals),
            self.at(finished),
            self.at(sums),
        ];
        // SAFETY: for each bin, `totals` has three 64-bit sums (Σw, Σw·v, Σw·v²), `sums` has three doubles, and shared
        // memory has three words. Every run leaves `totals` and `finished` at zero.
        unsafe { self.launch(kernel, Grid::of(blocks, SLABS_THREADS, shared), values) };
        Ok(sums)
    }

    fn skipping(&mut self) -> Result<Slot, Error> {
        let kernel = self.kernel_for_source(["cr_bricks_given", "cr_bricks_exact", "cr_bricks_filtered"])?;
        let (pair, bins) = (self.pair, self.pair.bins);
        let shared = 8 * bins;
        let wanted = self.blocks(kernel, BRICKS_THREADS, shared)?;
        let blocks = bricks::blocks(pair.volume.shape(), wanted, BRICKS_MOST_VOXELS);
        let (in_bin, _) = pair.in_bins();
        let tables = self.brick_tables()?;
        let in_bin = self.holding(&in_bin)?;
        let totals = self.zeroed::<u32>(2 * (2 * bins + 1))?;
        let finished = self.zeroed::<u32>(1)?;
        let sums = self.uninitialised::<f64>(2 * bins + 1)?;
        let values = [
            Value::Bricks(tables),
            self.bins(),
            Value::Float(pair.per_range),
            self.at(in_bin),
            self.at(totals),
            self.at(finished),
            self.at(sums),
        ];
        // SAFETY: the tables cover the fixed and the moving volume. `totals` has two 64-bit sums for each bin (Σw·v,
        // Σ(1−w)) and one more (Σw·v² of all bins). `sums` has as many doubles, and shared memory has two words for
        // each bin. Every run leaves `totals` and `finished` at zero.
        unsafe { self.launch(kernel, Grid::of(blocks, BRICKS_THREADS, shared), values) };
        Ok(sums)
    }

    /// Adds up rows of single-precision sums in double precision, in a fixed order.
    fn merge_sums(&mut self, rows: Slot, count: usize) -> Result<Slot, Error> {
        let width = 3 * self.pair.bins;
        let slices = SLICES.min(count);
        let parts = self.uninitialised::<f64>(slices * width)?;
        let sums = self.uninitialised::<f64>(width)?;
        for (name, slots, count, slices) in
            [("merge_sums", [rows, parts], count, slices), ("merge_parts", [parts, sums], slices, 1)]
        {
            let kernel = self.kernel(name)?;
            let grid = Grid { blocks: [width.div_ceil(32), slices], threads: [32, 32], shared: 0 };
            // SAFETY: the input `slots[0]` has `count` rows of `width` numbers, which are divided into groups of rows
            // (slices). The output `slots[1]` has a row of `width` numbers for each group, which are the sums over its
            // rows.
            unsafe { self.launch_merge(kernel, grid, slots, [count, width], None) };
        }
        Ok(sums)
    }
}
