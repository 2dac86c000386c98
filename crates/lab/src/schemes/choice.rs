//! Names and settings of the GPU algorithms for histograms.

/// GPU algorithms for the sums of the correlation ratio: Σw, Σw·y and Σw·y² of each fixed bin, where y is the moving
/// value and w its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrScheme {
    /// Section 3.2 of Li 2015: all threads add atomically to one table of the sums Σw, Σw·y and Σw·y² in global memory,
    /// in single precision.
    GlobalAtomic,
    /// The algorithm `GlobalAtomic`, but with sums in double precision.
    GlobalAtomicDouble,
    /// Section 3.3 of Li 2015: each thread has its own table of the sums Σw, Σw·y and Σw·y² in global memory.
    GlobalMerge,
    /// Section 3.4 of Li 2015, with atomics: each thread block has its own table of the sums Σw, Σw·y and Σw·y² in
    /// shared memory, and adds it to global memory by atomic operations.
    SharedAtomic,
    /// Section 3.4 of Li 2015, with tables: each thread block has its own table of the sums Σw, Σw·y and Σw·y² in
    /// shared memory. The tables are added up afterwards.
    SharedMerge,
    /// Section 3.5 of Li 2015: each warp has its own table of the sums Σw, Σw·y and Σw·y² in shared memory.
    SharedWarp,
    /// Section 3.6 of Li 2015: the fixed voxels are sorted beforehand, and each thread block processes one segment, a
    /// group of sorted voxels with the same bin.
    ConflictFree,
    /// Voxels are processed in tiles (boxes of 32×8×8 voxels) in the order of the volume, and sorted by bin within each
    /// tile, in shared memory.
    Tiled,
    /// Voxels are processed in the order of the volume. The sums of the correlation ratio (Σw, Σw·y and Σw·y² of each
    /// bin) are added up as integers. The sums of the bin with the most voxels are kept in registers.
    Slabs,
    /// Voxels are processed in bricks (boxes of 8×8×4 voxels). Bricks that are mapped only to the background of the
    /// moving image are skipped. Sums are integers, and only the sums that the correlation ratio needs are computed.
    Skipping,
}

impl CrScheme {
    /// All algorithms for the sums of the correlation ratio. The algorithms of the papers come first.
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

    /// Name of the algorithm in Li 2015 and in the tables of measurements.
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

    /// Whether repeated runs of the algorithm give identical results. Algorithms with atomic additions of
    /// floating-point numbers do not give identical results, because the order of the additions varies.
    pub fn deterministic(self) -> bool {
        matches!(self, CrScheme::GlobalMerge | CrScheme::Tiled | CrScheme::Slabs | CrScheme::Skipping)
    }
}

/// GPU algorithms for joint histograms. All of them count in integers, so all are deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MiScheme {
    /// All threads count in one joint histogram in global memory, by atomic operations.
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
    /// Fixed voxels are sorted by bin beforehand, and each thread block gets voxels of one fixed bin. So it fills only
    /// one row of the joint histogram.
    Rows,
    /// Each thread block counts in its own joint histogram of 32-bit counters in shared memory. Voxels are processed in
    /// the order of the volume.
    Slabs32,
    /// The algorithm `Slabs32` for joint histograms, but with 16-bit counters.
    Slabs16,
    /// The algorithm `Slabs16`, but voxels are processed in bricks (boxes of 8×8×4 voxels). Bricks that are mapped only
    /// to the background of the moving image are skipped. Counts of the background are computed from the other counts.
    Skipping,
}

impl MiScheme {
    /// All algorithms for joint histograms. The algorithms of the papers come first.
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

    /// Name of the algorithm in the tables of measurements.
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

/// Settings of a GPU algorithm for histograms: numbers of blocks and threads, segment length, sorting. An algorithm
/// ignores settings that it does not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Number of thread blocks; `None` for as many blocks as the device can run at once.
    pub blocks: Option<usize>,
    /// Number of threads of each thread block when an algorithm's kernels are launched.
    pub threads: usize,
    /// Largest number of voxels in a segment: a group of sorted voxels of one bin, which one thread block processes.
    pub segment: usize,
    /// Order in which the fixed voxels are sorted.
    pub order: Order,
    /// Shared memory that a thread block may use for its part of a histogram, bytes.
    pub shared: usize,
}

impl Default for Settings {
    /// The default settings of the kernels: numbers of blocks and threads, segment length and shared memory. They are
    /// the values that the figures of Li 2015 keep constant while another setting is varied.
    fn default() -> Settings {
        Settings { blocks: Some(1024), threads: 256, segment: 512, order: Order::Intensity, shared: 48 << 10 }
    }
}
