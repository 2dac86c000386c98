//! Device memory of the operations that compute a number for each transform of a batch. It is reused from call to call.

use super::buffer::{Buffer, Plain};

/// Device memory for the correlation ratio of a batch of transforms: the transforms, their sums and their costs. It is
/// reused from call to call.
#[derive(Default)]
pub(super) struct BatchBuffers {
    pub(super) maps: Option<Buffer<[f32; 12]>>,
    /// Four floats for each transform and each segment of fixed voxels: Σw, Σw·y and Σw·y², with moving values y and
    /// weights w, and an unused float. A segment is a part of the list of fixed voxels sorted by bin, with voxels of
    /// one bin.
    pub(super) sums: Option<Buffer<f32>>,
    pub(super) costs: Option<Buffer<f64>>,
    /// Integer sums of each transform, for images without weights: three sums for each bin of the fixed image, then one
    /// sum over all voxels.
    pub(super) totals: Option<Buffer<u64>>,
}

/// GPU memory for the joint histograms of a batch of transforms, reused from call to call.
#[derive(Default)]
pub(super) struct JointBuffers {
    pub(super) maps: Option<Buffer<[f32; 12]>>,
    pub(super) rows: Option<Buffer<u32>>,
    pub(super) counts: Option<Buffer<u64>>,
    /// For each row of each histogram, three numbers from which the entropies are computed: n, n·ln n and Σ c·ln c,
    /// where c are the row's counters and n is their sum.
    pub(super) row_terms: Option<Buffer<f64>>,
    pub(super) entropies: Option<Buffer<f64>>,
}

/// GPU memory for the moments of fixed and moving values under a batch of transforms, reused from call to call.
#[derive(Default)]
pub(super) struct MomentBuffers {
    pub(super) maps: Option<Buffer<[f32; 12]>>,
    /// Eight floats for each transform and each thread block: six sums over the voxels that the block processes, Σw,
    /// Σwx, Σwy, Σwx², Σwy² and Σwxy with fixed values x and moving values y (both scaled) and weights w, and two
    /// unused floats.
    pub(super) sums: Option<Buffer<f32>>,
    pub(super) totals: Option<Buffer<f64>>,
}

/// GPU memory for the contrast across a surface under a batch of transforms, reused from call to call.
#[derive(Default)]
pub(super) struct ContrastBuffers {
    pub(super) maps: Option<Buffer<[f32; 12]>>,
    /// Three sums of the contrast for each transform and each thread block, over the surface points that the block
    /// processes.
    pub(super) sums: Option<Buffer<f32>>,
}

/// Layout of the structure `Placed` in `cu/fit_sums.cu`: the address of a volume's spline coefficients, and a map from
/// reference points to voxel indices of the volume.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placed {
    pub(super) volume: u64,
    pub(super) map: [f32; 12],
}
// SAFETY: the structure consists of numbers only, and it has no padding.
unsafe impl Plain for Placed {}

/// GPU memory for the sums of least-squares fits (of volumes, by functions at reference points) under a batch of maps,
/// reused from call to call.
#[derive(Default)]
pub(super) struct FitBuffers {
    pub(super) placed: Option<Buffer<Placed>>,
    /// For each requested fit (a volume and a map) and each chunk of reference points: the sums over the points of the
    /// chunk that [`FitSums`] lists.
    pub(super) sums: Option<Buffer<f64>>,
    /// For each requested fit (a volume and a map): the sums that [`FitSums`] lists, over all reference points.
    pub(super) totals: Option<Buffer<f64>>,
}
