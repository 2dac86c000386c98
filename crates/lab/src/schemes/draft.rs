//! Builds the list of steps of a histogram algorithm for a pair of images (device memory and kernel launches), with
//! functions that several algorithms need.

use antsreg_kernels::cuda::extension::{Buffer, Kernel, Plain};

use super::Histograms;
use super::bricks::{self, BrickTables};
use super::choice::Settings;
use super::layout::Size;
use super::pair::{Pair, Source};
use super::plan::{Grid, Memory, Plan, Slot, Value};
use super::segments::Segments;
use crate::Error;

/// The list of steps of a histogram algorithm (device memory and kernel launches), while it is built for a pair of
/// images and for given settings.
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

    /// Largest shared memory of a thread block on this device, bytes.
    pub(super) fn most_shared(&self) -> usize {
        self.histograms.most_shared
    }

    pub(super) fn kernel(&self, name: &'static str) -> Result<&'p Kernel, Error> {
        Ok(self.histograms.kernels.get(name)?)
    }

    /// Chooses the kernel for the way in which moving values are obtained: given, interpolated in single precision, or
    /// interpolated by the texture unit.
    pub(super) fn kernel_for_source(&self, [given, exact, filtered]: [&'static str; 3]) -> Result<&'p Kernel, Error> {
        self.kernel(match self.pair.source {
            Source::Given => given,
            Source::Exact => exact,
            Source::Filtered => filtered,
        })
    }

    /// Allows a kernel to use `bytes` of shared memory.
    ///
    /// # Errors
    /// The device has less shared memory.
    pub(super) fn allow_shared(&self, kernel: &Kernel, bytes: usize) -> Result<(), Error> {
        Ok(self.histograms.cuda.allow_shared(kernel, bytes)?)
    }

    /// Number of thread blocks of a kernel that the device can run at once; at least one for each multiprocessor.
    fn resident(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.allow_shared(kernel, shared)?;
        Ok(self.histograms.cuda.resident_blocks(kernel, threads as u32, shared)?)
    }

    /// The number of thread blocks that the settings request. If they request none, the number of blocks that the
    /// device can run at once.
    pub(super) fn blocks(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.blocks_of_parts(kernel, threads, shared, 1)
    }

    /// The number of thread blocks for each of the `parts` parts into which a joint histogram is divided. If the
    /// settings give no number, the blocks that the device can run at once are divided among the parts.
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

    /// Allocates device memory for `len` elements without initialising it.
    pub(super) fn uninitialised<T: Plain>(&mut self, len: usize) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.uninitialised::<T>(len)?))
    }

    /// Allocates memory for `len` elements and sets it to zero.
    pub(super) fn zeroed<T: Plain>(&mut self, len: usize) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.zeroed::<T>(len)?))
    }

    /// Allocates device memory and copies `values` into it. The memory is freed with the list of steps (kernel launches
    /// and copies of a histogram algorithm). Returns the index of the allocation.
    pub(super) fn holding<T: Plain>(&mut self, values: &[T]) -> Result<Slot, Error>
    where
        Memory: From<Buffer<T>>,
    {
        Ok(self.plan.keep(self.histograms.cuda.holding(values)?))
    }

    /// The address, in the device's memory, of the memory allocation with this index, as a kernel argument.
    pub(super) fn at(&self, slot: Slot) -> Value {
        Value::Address(self.plan.pointer(slot))
    }

    /// Adds the launch of a kernel to the list of steps. The kernel's arguments are the pair of images, then `values`.
    ///
    /// # Safety
    /// The caller must meet the conditions of [`Plan::launch`].
    pub(super) unsafe fn launch<const N: usize>(&mut self, kernel: &'p Kernel, grid: Grid, values: [Value; N]) {
        let values = std::iter::once(Value::Pair(self.pair.operands)).chain(values).collect();
        // SAFETY: the caller meets the conditions of `Plan::launch`. The pair of images owns the device memory to which
        // the kernel's argument points. It outlives the list of steps.
        unsafe { self.plan.launch(kernel, grid, values) };
    }

    /// Adds the launch of a kernel that adds up `count` rows of `width` numbers. It reads them from one memory
    /// allocation and writes the result to another.
    ///
    /// # Safety
    /// The caller must meet the conditions of [`Plan::launch`].
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
        // SAFETY: the caller meets the conditions of `Plan::launch`: all addresses point to memory that the list of
        // steps or its pair of images owns.
        unsafe { self.plan.launch(kernel, grid, values) };
    }

    /// Uploads the list of sorted fixed voxels, and the start and the bin of each segment of this list; all voxels of a
    /// segment are in one bin. Returns the indices of these three lists among the memory allocations, and the number of
    /// segments.
    pub(super) fn sorted_segments(&mut self) -> Result<([Slot; 3], usize), Error> {
        let sorted = self.histograms.sorted(self.pair, self.settings.order)?;
        let segments = Segments::new(&sorted.host, &self.pair.voxel_bins, self.settings.segment);
        let starts = self.holding(&segments.starts)?;
        let bins = self.holding(&segments.bins)?;
        Ok(([starts, self.plan.keep(Memory::Sorted(sorted)), bins], segments.bins.len()))
    }

    /// Uploads to the GPU the tables that say which bricks (boxes of 8×8×4 voxels) are mapped only to background of the
    /// moving image, so that kernels can skip these bricks.
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
