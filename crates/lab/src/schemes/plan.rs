//! A GPU algorithm for a histogram, prepared for a pair of images: device memory and a list of steps, which can be run
//! and timed any number of times.

use antsreg_kernels::Cuda;
use antsreg_kernels::cuda::extension::{self, Argument, Buffer, Kernel};

use super::bricks::BrickTables;
use super::pair::{Operands, Sorted};
use super::{CrSums, Histograms};
use crate::Error;

/// Kernel argument with the tables by which the voxels of each tile (a box of 32×8×8 voxels) are sorted by bin. The
/// memory layout is that of the structure `Tiles` in `cu/cr_tiled.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct TileTables {
    pub(super) places: u64,
    pub(super) pieces: u64,
    pub(super) first_piece: u64,
    pub(super) bin_pieces: u64,
    pub(super) count: u32,
    pub(super) most_pieces: i32,
}
impl Argument for TileTables {}

/// A kernel argument that is stored until the kernel is launched.
pub(super) enum Value {
    Pair(Operands),
    Tiles(TileTables),
    Bricks(BrickTables),
    Address(u64),
    Unsigned(u32),
    Signed(i32),
    Float(f32),
}

impl Value {
    fn argument(&self) -> &dyn Argument {
        match self {
            Value::Pair(value) => value,
            Value::Tiles(value) => value,
            Value::Bricks(value) => value,
            Value::Address(value) => value,
            Value::Unsigned(value) => value,
            Value::Signed(value) => value,
            Value::Float(value) => value,
        }
    }
}

/// Device memory of a histogram algorithm that is prepared to run.
pub(super) enum Memory {
    Words(Buffer<u32>),
    Halves(Buffer<u16>),
    Singles(Buffer<f32>),
    Doubles(Buffer<f64>),
    Sorted(Sorted),
}

macro_rules! memory_from {
    ($($kind:ident: $element:ty),+) => {
        $(impl From<Buffer<$element>> for Memory {
            fn from(buffer: Buffer<$element>) -> Memory {
                Memory::$kind(buffer)
            }
        })+
    };
}
memory_from!(Words: u32, Halves: u16, Singles: f32, Doubles: f64);

impl Memory {
    /// The address of this memory on the device.
    pub(super) fn pointer(&self) -> u64 {
        match self {
            Memory::Words(buffer) => buffer.pointer(),
            Memory::Halves(buffer) => buffer.pointer(),
            Memory::Singles(buffer) => buffer.pointer(),
            Memory::Doubles(buffer) => buffer.pointer(),
            Memory::Sorted(sorted) => sorted.device.pointer(),
        }
    }

    fn clear(&mut self) -> Result<(), antsreg_kernels::Error> {
        match self {
            Memory::Words(buffer) => buffer.clear(0..buffer.len()),
            Memory::Halves(buffer) => buffer.clear(0..buffer.len()),
            Memory::Singles(buffer) => buffer.clear(0..buffer.len()),
            Memory::Doubles(buffer) => buffer.clear(0..buffer.len()),
            Memory::Sorted(_) => Ok(()),
        }
    }
}

/// Index of a memory allocation in the list of those that an algorithm uses on the GPU.
pub(super) type Slot = usize;

enum Step<'p> {
    Clear(Slot),
    /// Copies the second memory allocation to the first. This sets the counters of a histogram to their initial values.
    Copy(Slot, Slot),
    Launch {
        kernel: &'p Kernel,
        grid: extension::Grid,
        values: Vec<Value>,
    },
}

/// A GPU algorithm for a histogram, prepared for a pair of images: its device memory and its steps (kernel launches and
/// copies).
pub struct Plan<'p> {
    cuda: &'p Cuda,
    hold: &'p Kernel,
    memory: Vec<Memory>,
    steps: Vec<Step<'p>>,
    result: Slot,
    bins: usize,
}

/// Size of a kernel launch: its numbers of blocks and threads, and the shared memory of a block (bytes).
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) blocks: [usize; 2],
    pub(super) threads: [usize; 2],
    pub(super) shared: usize,
}

impl Grid {
    pub(super) fn of(blocks: usize, threads: usize, shared: usize) -> Grid {
        Grid { blocks: [blocks, 1], threads: [threads, 1], shared }
    }
}

impl Histograms<'_> {
    /// Makes an empty list of steps (kernel launches and copies), to which device memory and steps are added later.
    pub(super) fn plan(&self, bins: usize) -> Result<Plan<'_>, Error> {
        let hold = self.kernels.get("hold")?;
        Ok(Plan { cuda: self.cuda, hold, memory: Vec::new(), steps: Vec::new(), result: 0, bins })
    }
}

impl<'p> Plan<'p> {
    /// Adds a memory allocation on the device to this list of steps, which keeps the memory as long as it exists.
    /// Returns the index of the allocation.
    pub(super) fn keep(&mut self, memory: impl Into<Memory>) -> Slot {
        self.memory.push(memory.into());
        self.memory.len() - 1
    }

    /// The address, in the device's memory, of the memory allocation with this index.
    pub(super) fn pointer(&self, slot: Slot) -> u64 {
        self.memory[slot].pointer()
    }

    /// Chooses the memory allocation that holds the algorithm's result (sums or counts) after a run.
    pub(super) fn results_in(&mut self, slot: Slot) {
        self.result = slot;
    }

    pub(super) fn clear(&mut self, slot: Slot) {
        self.steps.push(Step::Clear(slot));
    }

    /// Adds a copy of counters, from the memory allocation `from` to the memory allocation `to`, to the list of steps
    /// that the algorithm runs.
    pub(super) fn copy(&mut self, to: Slot, from: Slot) {
        self.steps.push(Step::Copy(to, from));
    }

    /// Adds the launch of a kernel to the list of steps.
    ///
    /// # Safety
    /// Whenever the steps run, the conditions of [`Cuda::launch_kernel`] must be met: all addresses in `values` point
    /// to device memory that this list of steps or its pair of images owns.
    pub(super) unsafe fn launch(&mut self, kernel: &'p Kernel, grid: Grid, values: Vec<Value>) {
        let grid = extension::Grid {
            blocks: [grid.blocks[0] as u32, grid.blocks[1] as u32, 1],
            threads: [grid.threads[0] as u32, grid.threads[1] as u32, 1],
            shared: grid.shared as u32,
        };
        self.steps.push(Step::Launch { kernel, grid, values });
    }

    /// Runs all kernel launches and copies of this histogram algorithm once. Returns without waiting until the device
    /// has finished.
    pub fn run(&mut self) -> Result<(), Error> {
        for step in &self.steps {
            match step {
                Step::Clear(slot) => self.memory[*slot].clear()?,
                Step::Copy(to, from) => {
                    if let Ok([Memory::Words(to), Memory::Words(from)]) = self.memory.get_disjoint_mut([*to, *from]) {
                        to.copy_from(from)?;
                    }
                }
                Step::Launch { kernel, grid, values } => {
                    let arguments: Vec<&dyn Argument> = values.iter().map(Value::argument).collect();
                    // SAFETY: when this kernel launch was added to the list of steps, the caller of `Plan::launch`
                    // guaranteed the conditions of `Cuda::launch_kernel`.
                    unsafe { self.cuda.launch_kernel(kernel, *grid, &arguments)? };
                }
            }
        }
        Ok(())
    }

    /// Median time of one run of the algorithm on the device, seconds. Its inputs may be in the caches from earlier
    /// runs.
    pub fn time(&mut self) -> Result<f64, Error> {
        self.run()?;
        let first = self.timed(1)?;
        // An algorithm that takes a short time is timed in groups of several runs; an algorithm that takes long is
        // repeated fewer times.
        let (at_a_time, rounds) = match first {
            seconds if seconds < 1e-3 => (4, 11),
            seconds if seconds < 1e-2 => (1, 7),
            _ => (1, 3),
        };
        let mut seconds = (0..rounds).map(|_| self.timed(at_a_time)).collect::<Result<Vec<_>, _>>()?;
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[rounds / 2])
    }

    /// Mean time of one run of the algorithm, over `runs` runs in sequence, seconds.
    fn timed(&mut self, runs: usize) -> Result<f64, Error> {
        let timer = self.cuda.timer()?;
        // First a kernel keeps the device busy until the host has queued all launches. So the overhead of the launches
        // is not measured.
        let cycles = (runs * self.steps.len() * 100_000).min(50_000_000) as u32;
        let one_thread = extension::Grid { blocks: [1; 3], threads: [1; 3], shared: 0 };
        // SAFETY: the kernel, which only waits, takes one number and accesses no memory.
        unsafe { self.cuda.launch_kernel(self.hold, one_thread, &[&cycles])? };
        timer.start()?;
        for _ in 0..runs {
            self.run()?;
        }
        Ok(timer.stop()? / runs as f64)
    }

    /// The joint histogram that the last run computed; empty if this algorithm computes sums of the correlation ratio
    /// instead.
    pub fn joint(&self) -> Result<Vec<u32>, Error> {
        match &self.memory[self.result] {
            Memory::Words(counts) => Ok(counts.download(counts.len())?),
            _ => Ok(Vec::new()),
        }
    }

    /// The sums Σw, Σw·y and Σw·y² of each bin that the last run computed; empty if this algorithm computes a joint
    /// histogram instead.
    pub fn sums(&self) -> Result<CrSums, Error> {
        let all = match &self.memory[self.result] {
            Memory::Singles(sums) => sums.download(sums.len())?.into_iter().map(f64::from).collect(),
            Memory::Doubles(sums) => sums.download(sums.len())?,
            _ => Vec::new(),
        };
        let (weight, rest) = all.split_at(self.bins.min(all.len()));
        let (sum, square) = rest.split_at(self.bins.min(rest.len()));
        Ok(CrSums { weight: weight.to_vec(), sum: sum.to_vec(), square: square.to_vec() })
    }
}
