//! A plan that is being drawn up for a pair: what every scheme needs for it.

use antsreg_kernels::cuda::extension::{Buffer, Kernel, Plain};

use super::Histograms;
use super::bricks::{self, BrickTables};
use super::choice::Settings;
use super::layout::Size;
use super::pair::{Pair, Source};
use super::plan::{Grid, Memory, Plan, Slot, Value};
use super::segments::Segments;
use crate::Error;

/// A plan, and what it is for.
pub(super) struct Draft<'p> {
    histograms: &'p Histograms<'p>,
    pub(super) pair: &'p Pair<'p>,
    pub(super) settings: Settings,
    pub(super) plan: Plan<'p>,
}

impl<'p> Draft<'p> {
    pub(super) fn new(
        histograms: &'p Histograms<'_>,
        pair: &'p Pair<'_>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        Ok(Draft { histograms, pair, settings: *settings, plan: histograms.plan(pair.bins)? })
    }

    /// The most shared memory a block can have, bytes.
    pub(super) fn most_shared(&self) -> usize {
        self.histograms.most_shared
    }

    pub(super) fn kernel(&self, name: &'static str) -> Result<&'p Kernel, Error> {
        Ok(self.histograms.kernels.get(name)?)
    }

    /// One of the kernels for given values, for exact ones and for filtered ones.
    pub(super) fn kernel_for_source(&self, [given, exact, filtered]: [&'static str; 3]) -> Result<&'p Kernel, Error> {
        self.kernel(match self.pair.source {
            Source::Given => given,
            Source::Exact => exact,
            Source::Filtered => filtered,
        })
    }

    /// Lets a kernel use this much shared memory, or says why it cannot.
    pub(super) fn allow_shared(&self, kernel: &Kernel, bytes: usize) -> Result<(), Error> {
        Ok(self.histograms.cuda.allow_shared(kernel, bytes)?)
    }

    /// Blocks that the device holds at once, at least one a multiprocessor.
    fn resident(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.allow_shared(kernel, shared)?;
        Ok(self.histograms.cuda.resident_blocks(kernel, threads as u32, shared)?)
    }

    /// The blocks asked for, or as many as the device holds at once.
    pub(super) fn blocks(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.blocks_of_parts(kernel, threads, shared, 1)
    }

    /// The same where so many parts of a histogram have blocks of their own.
    pub(super) fn blocks_of_parts(
        &self,
        kernel: &Kernel,
        threads: usize,
        shared: usize,
        parts: usize,
    ) -> Result<usize, Error> {
        let resident = self.resident(kernel, threads, shared)? / parts;
        Ok(self.settings.blocks.unwrap_or(resident.max(1)))
    }

    /// Memory for so many elements, contents undefined.
    pub(super) fn uninitialised<T: Plain>(&mut self, len: usize) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.uninitialised::<T>(len)?))
    }

    /// Memory for so many elements, zero now.
    pub(super) fn zeroed<T: Plain>(&mut self, len: usize) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.zeroed::<T>(len)?))
    }

    /// Memory that holds these.
    pub(super) fn holding<T: Plain>(&mut self, values: &[T]) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.holding(values)?))
    }

    /// Where a slot is, for a kernel.
    pub(super) fn at(&self, slot: Slot) -> Value {
        Value::Address(self.plan.pointer(slot))
    }

    /// Adds a launch of a kernel that takes the pair, then these.
    ///
    /// # Safety
    /// As for [`Plan::launch`].
    pub(super) unsafe fn launch<const N: usize>(&mut self, kernel: &'p Kernel, grid: Grid, values: [Value; N]) {
        let values = std::iter::once(Value::Pair(self.pair.operands)).chain(values).collect();
        // SAFETY: the caller's promise; the pair keeps what its operands point to.
        unsafe { self.plan.launch(kernel, grid, values) };
    }

    /// Adds a launch of a kernel that makes rows into one: of so many rows of this width, from one slot to another.
    ///
    /// # Safety
    /// As for [`Plan::launch`].
    pub(super) unsafe fn launch_merge(
        &mut self,
        kernel: &'p Kernel,
        grid: Grid,
        [rows, to]: [Slot; 2],
        [count, width]: [usize; 2],
        more: Option<Value>,
    ) {
        let mut values = vec![self.at(rows), Value::Unsigned(count as u32), Value::Unsigned(width as u32)];
        values.extend(more);
        values.push(self.at(to));
        // SAFETY: the caller's promise.
        unsafe { self.plan.launch(kernel, grid, values) };
    }

    /// Starts of segments, sorted voxels, bins of segments, as slots; and how many segments there are.
    pub(super) fn sorted_segments(&mut self) -> Result<([Slot; 3], usize), Error> {
        let sorted = self.histograms.sorted(self.pair, self.settings.order)?;
        let segments = Segments::new(&sorted.host, &self.pair.voxel_bins, self.settings.segment);
        let starts = self.holding(&segments.starts)?;
        let bins = self.holding(&segments.bins)?;
        Ok(([starts, self.plan.keep(Memory::Sorted(sorted)), bins], segments.bins.len()))
    }

    /// Brings to the device what the kernels that skip bricks look up.
    pub(super) fn brick_tables(&mut self) -> Result<BrickTables, Error> {
        let (pair, emptiness) = (self.pair, &self.pair.emptiness);
        let shape = pair.volume.shape();
        let fixed = self.holding(&bricks::in_bricks(shape, &pair.voxel_bins))?;
        let distance = self.holding(&emptiness.distance)?;
        let (_, hot) = pair.in_bins();
        Ok(BrickTables {
            fixed: self.plan.pointer(fixed),
            distance: self.plan.pointer(distance),
            count: Size::of(bricks::count(shape)),
            cells: Size::of(emptiness.cells),
            common: emptiness.common,
            hot: hot as i32,
        })
    }
}
