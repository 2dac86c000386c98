//! The schemes by name, and what can be set of them.

/// How the sums of the correlation ratio are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrScheme {
    /// Li 2015, 3.2: atomics on one copy in global memory, single precision.
    GlobalAtomic,
    /// The same in double precision.
    GlobalAtomicDouble,
    /// Li 2015, 3.3: a copy for each thread in global memory.
    GlobalMerge,
    /// Li 2015, 3.4: a copy for each block in shared memory, which it adds to global memory by atomics.
    SharedAtomic,
    /// Li 2015, 3.4: the same, with the blocks' copies merged afterwards.
    SharedMerge,
    /// Li 2015, 3.5: a copy for each warp in shared memory.
    SharedWarp,
    /// Li 2015, 3.6: fixed voxels sorted beforehand, a block for each segment of one bin.
    ConflictFree,
    /// Voxels in the volume's order, sorted within tiles in shared memory.
    Tiled,
    /// Voxels in the volume's order, sums in whole units in shared memory, the fullest bin in registers.
    Slabs,
    /// Voxels brick by brick, but for bricks that meet only the moving image's background; sums that the cost needs and no
    /// more, in whole units.
    Skipping,
}

impl CrScheme {
    /// All of them, the papers' first.
    pub const ALL: [CrScheme; 10] = [
        CrScheme::GlobalAtomic,
        CrScheme::GlobalAtomicDouble,
        CrScheme::GlobalMerge,
        CrScheme::SharedAtomic,
        CrScheme::SharedMerge,
        CrScheme::SharedWarp,
        CrScheme::ConflictFree,
        CrScheme::Tiled,
        CrScheme::Slabs,
        CrScheme::Skipping,
    ];

    /// As the paper and the tables name it.
    pub fn name(self) -> &'static str {
        match self {
            CrScheme::GlobalAtomic => "global_atomic",
            CrScheme::GlobalAtomicDouble => "global_atomic (f64)",
            CrScheme::GlobalMerge => "global_merge",
            CrScheme::SharedAtomic => "shared_atomic",
            CrScheme::SharedMerge => "shared_merge",
            CrScheme::SharedWarp => "shared_warp",
            CrScheme::ConflictFree => "conflict_free",
            CrScheme::Tiled => "tiled",
            CrScheme::Slabs => "slabs",
            CrScheme::Skipping => "skipping",
        }
    }

    /// Whether two runs give the same bits: no atomics on numbers that are rounded.
    pub fn deterministic(self) -> bool {
        matches!(self, CrScheme::GlobalMerge | CrScheme::Tiled | CrScheme::Slabs | CrScheme::Skipping)
    }
}

/// How a joint histogram is made. All of them count in integers, so all are deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MiScheme {
    /// Atomics on one copy in global memory.
    GlobalAtomic,
    /// Shams 2007: a copy for each warp in shared memory, one pass for each range of bins that fits.
    WarpShadows,
    /// Shams 2007, method 2: a copy for each thread in global memory, with packed counters in shared memory.
    ThreadShadows,
    /// Shams 2010: chunks sorted and counted by a bitonic network.
    SortCount,
    /// Brosch 2009: counters in shared memory sized by an earlier histogram.
    Adaptive,
    /// Sun 2010: a column for each thread, rows added up afterwards.
    Columns,
    /// Fixed voxels sorted beforehand: a block needs one row.
    Rows,
    /// A whole histogram of 32-bit counters for each block in shared memory, voxels in the volume's order.
    Slabs32,
    /// The same with 16-bit counters.
    Slabs16,
    /// The same brick by brick, but for the counters of the moving image's background, which follow from the others, and for
    /// bricks that meet nothing else.
    Skipping,
}

impl MiScheme {
    /// All of them, the papers' first.
    pub const ALL: [MiScheme; 10] = [
        MiScheme::GlobalAtomic,
        MiScheme::WarpShadows,
        MiScheme::ThreadShadows,
        MiScheme::SortCount,
        MiScheme::Adaptive,
        MiScheme::Columns,
        MiScheme::Rows,
        MiScheme::Slabs32,
        MiScheme::Slabs16,
        MiScheme::Skipping,
    ];

    /// As the tables name it.
    pub fn name(self) -> &'static str {
        match self {
            MiScheme::GlobalAtomic => "global_atomic",
            MiScheme::WarpShadows => "warp_shadows",
            MiScheme::ThreadShadows => "thread_shadows",
            MiScheme::SortCount => "sort_and_count",
            MiScheme::Adaptive => "adaptive",
            MiScheme::Columns => "columns",
            MiScheme::Rows => "sorted_rows",
            MiScheme::Slabs32 => "slabs_32",
            MiScheme::Slabs16 => "slabs_16",
            MiScheme::Skipping => "skipping",
        }
    }
}

/// The order in which fixed voxels are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// By intensity, as Li sorts them.
    #[default]
    Intensity,
    /// By bin, and within a bin brick by brick of 8×8×8 voxels, so that neighbours stay together.
    Bricks,
}

/// What can be set of a scheme; what does not concern it is not looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Blocks of the grid; where `None`, as many as the device holds at once.
    pub blocks: Option<usize>,
    /// Threads of a block.
    pub threads: usize,
    /// The most voxels of a segment of sorted ones.
    pub segment: usize,
    /// How these are sorted.
    pub order: Order,
    /// Shared memory a block may use for its part of a histogram, bytes.
    pub shared: usize,
}

impl Default for Settings {
    /// What Li's figures keep fixed while they vary the rest.
    fn default() -> Settings {
        Settings { blocks: Some(1024), threads: 256, segment: 512, order: Order::Intensity, shared: 48 << 10 }
    }
}
