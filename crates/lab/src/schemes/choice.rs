//! Names and settings of the schemes.

/// Schemes for the sums of the correlation ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrScheme {
    /// Li 2015, 3.2: all threads add atomically to one table of sums in global memory, in single precision.
    GlobalAtomic,
    /// The scheme `GlobalAtomic` in double precision.
    GlobalAtomicDouble,
    /// Li 2015, 3.3: each thread has its own table of sums in global memory.
    GlobalMerge,
    /// Li 2015, 3.4: a copy for each block in shared memory, which it adds to global memory by atomics.
    SharedAtomic,
    /// Li 2015, 3.4: the scheme `SharedAtomic`, except that the blocks' copies are merged afterwards.
    SharedMerge,
    /// Li 2015, 3.5: a copy for each warp in shared memory.
    SharedWarp,
    /// Li 2015, 3.6: fixed voxels sorted beforehand, one block for each segment of one bin.
    ConflictFree,
    /// Voxels in the order of the volume, sorted within tiles in shared memory.
    Tiled,
    /// Voxels in the order of the volume, integer sums in shared memory, the sums of the fullest bin in registers.
    Slabs,
    /// Voxels in bricks, leaving out bricks that meet only the background of the moving image. Integer sums, and only
    /// those that the cost needs.
    Skipping,
}

impl CrScheme {
    /// All schemes; the schemes of the papers come first.
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

    /// Name in the paper and in the tables.
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

    /// Whether repeated runs give identical results. Atomic additions of floating-point numbers do not.
    pub fn deterministic(self) -> bool {
        matches!(self, CrScheme::GlobalMerge | CrScheme::Tiled | CrScheme::Slabs | CrScheme::Skipping)
    }
}

/// Schemes for joint histograms. All count in integers, so all are deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MiScheme {
    /// All threads count in one histogram in global memory, by atomic additions.
    GlobalAtomic,
    /// Shams 2007: a copy for each warp in shared memory, one pass for each range of bins that fits.
    WarpShadows,
    /// Shams 2007, method 2: a copy for each thread in global memory, with packed counters in shared memory.
    ThreadShadows,
    /// Shams 2010: chunks are sorted and counted by a bitonic network.
    SortCount,
    /// Brosch 2009: counters in shared memory, whose sizes come from an earlier histogram.
    Adaptive,
    /// Sun 2010: each thread has a column, and the rows are summed afterwards.
    Columns,
    /// Fixed voxels are sorted by bin beforehand, so that a block of threads fills one row of the histogram.
    Rows,
    /// Each block has a whole histogram of 32-bit counters in shared memory; voxels in the order of the volume.
    Slabs32,
    /// The scheme `Slabs32` with 16-bit counters.
    Slabs16,
    /// The scheme `Slabs16` with voxels in bricks. The counters of the moving image's background are computed from
    /// the others, and bricks that meet only background are left out.
    Skipping,
}

impl MiScheme {
    /// All schemes; the schemes of the papers come first.
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

    /// Name in the tables.
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
    /// Voxels are sorted by intensity, as in Li 2015.
    #[default]
    Intensity,
    /// Voxels are sorted by bin, and within a bin by bricks of 8×8×8 voxels, so that neighbours stay together.
    Bricks,
}

/// Settings of a scheme. A scheme ignores settings that it does not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Number of blocks; `None` for as many as the device holds at once.
    pub blocks: Option<usize>,
    /// Threads of a block.
    pub threads: usize,
    /// Most voxels of a segment of sorted voxels.
    pub segment: usize,
    /// Order of the sorted voxels.
    pub order: Order,
    /// Shared memory that a block may use for its part of a histogram, bytes.
    pub shared: usize,
}

impl Default for Settings {
    /// Default settings: the values at which the figures of Li 2015 keep each setting while another is varied.
    fn default() -> Settings {
        Settings { blocks: Some(1024), threads: 256, segment: 512, order: Order::Intensity, shared: 48 << 10 }
    }
}
