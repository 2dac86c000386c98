//! Names and settings of the histogram schemes.

/// Schemes for the sums of the correlation ratio (Σw, Σw·y and Σw·y² of each bin).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrScheme {
    /// Li 2015, 3.2: all threads add atomically to one table of sums in global memory, in single precision.
    GlobalAtomic,
    /// The scheme `GlobalAtomic`, but in double precision.
    GlobalAtomicDouble,
    /// Li 2015, 3.3: each thread has its own table of sums in global memory.
    GlobalMerge,
    /// Li 2015, 3.4: each block has its own table of sums in shared memory, and adds it to global memory by atomic
    /// operations.
    SharedAtomic,
    /// Li 2015, 3.4: each block has its own table of sums in shared memory. The tables are merged afterwards.
    SharedMerge,
    /// Li 2015, 3.5: each warp has its own table of sums in shared memory.
    SharedWarp,
    /// Li 2015, 3.6: the fixed voxels are sorted beforehand, and each block processes one segment of voxels with the
    /// same bin.
    ConflictFree,
    /// Voxels are processed in the order of the volume, and sorted by bin within tiles in shared memory.
    Tiled,
    /// Voxels are processed in the order of the volume. Sums are integers. The sums of the fullest bin are kept in
    /// registers.
    Slabs,
    /// Voxels are processed in bricks (small boxes). Bricks that meet only the background of the moving image are
    /// skipped. Sums are integers, and only the sums that the cost needs are computed.
    Skipping,
}

impl CrScheme {
    /// All schemes for the correlation ratio. The schemes of the papers come first.
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

    /// Name of the scheme in the paper and in the tables.
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

    /// Whether repeated runs give identical results. Schemes with atomic additions of floating-point numbers do not
    /// give identical results, because the order of the additions varies.
    pub fn deterministic(self) -> bool {
        matches!(self, CrScheme::GlobalMerge | CrScheme::Tiled | CrScheme::Slabs | CrScheme::Skipping)
    }
}

/// Schemes for joint histograms. All schemes count in integers, so all are deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MiScheme {
    /// All threads count in one histogram in global memory, by atomic operations.
    GlobalAtomic,
    /// Shams 2007: each warp has its own histogram in shared memory. If not all bins fit there, the volume is read
    /// several times, once for each range of bins.
    WarpShadows,
    /// Shams 2007, method 2: each thread has its own histogram in global memory, with small packed counters in shared
    /// memory.
    ThreadShadows,
    /// Shams 2010: chunks of voxels are sorted by a bitonic network and then counted.
    SortCount,
    /// Brosch 2009: each bin has up to 32 counters in shared memory, or none. Their number is chosen from the joint
    /// histogram of an earlier evaluation.
    Adaptive,
    /// Sun 2010: each thread counts in its own column of a table. The rows of the table are summed afterwards.
    Columns,
    /// Fixed voxels are sorted by bin beforehand. So a block of threads fills only one row of the histogram.
    Rows,
    /// Each block has a whole histogram of 32-bit counters in shared memory. Voxels are processed in the order of the
    /// volume.
    Slabs32,
    /// The scheme `Slabs32`, but with 16-bit counters.
    Slabs16,
    /// The scheme `Slabs16`, but voxels are processed in bricks (small boxes). Bricks that meet only the background of
    /// the moving image are skipped. Counts of the background are computed from the other counts.
    Skipping,
}

impl MiScheme {
    /// All schemes for joint histograms. The schemes of the papers come first.
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

    /// Name of the scheme in the tables.
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

/// The order in which the fixed voxels are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Voxels are sorted by intensity, as in Li 2015.
    #[default]
    Intensity,
    /// Voxels are sorted by bin, and voxels with the same bin by bricks of 8×8×8 voxels. So neighbouring voxels stay
    /// together.
    Bricks,
}

/// Settings of a scheme. A scheme ignores settings that it does not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Number of thread blocks; `None` for as many blocks as the device can run at once.
    pub blocks: Option<usize>,
    /// Number of threads of a block.
    pub threads: usize,
    /// Largest number of voxels in a segment: a group of sorted voxels of one bin, which one thread block processes.
    pub segment: usize,
    /// Order in which the fixed voxels are sorted.
    pub order: Order,
    /// Shared memory that a block may use for its part of a histogram, bytes.
    pub shared: usize,
}

impl Default for Settings {
    /// The default settings. They are the values that the figures of Li 2015 keep constant while another setting is
    /// varied.
    fn default() -> Settings {
        Settings { blocks: Some(1024), threads: 256, segment: 512, order: Order::Intensity, shared: 48 << 10 }
    }
}
