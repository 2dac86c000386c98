//! Joint histograms of fixed and moving values for a batch of transforms, and their entropies. Fixed voxels are sorted
//! by bin, and the list is cut into segments of one bin each. The row of a bin in the histogram is computed from the
//! bin's segments.

use antsreg_core::AffineTransform;

use crate::cuda::Cuda;
use crate::cuda::batch_buffers::JointBuffers;
use crate::cuda::buffer::{Buffer, grown};
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Shape, arguments};
use crate::cuda::similarity::bin_fixed::FixedBins;
use crate::cuda::similarity::sampled::Sampled;
use crate::cuda::similarity::samples::{MOST_TRANSFORMS, Moving, uploaded};
use crate::{Entropies, Error, JointParameters, JointSampling};

/// Kernel argument with the layout of the structure `Joint` in `cu/joint_histogram.cu`: range and bins of moving
/// values.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Joint {
    low: f32,
    scale: f32,
    bins: i32,
    copies: i32,
}
impl Argument for Joint {}

/// Number of threads of a block, which fills one row of a joint histogram.
const THREADS: u32 = 128;

/// Shared memory for the copies of a histogram row, bytes: enough for one copy per lane of a warp up to 128 bins, and
/// little enough that many blocks share a multiprocessor.
const ROW_BYTES: usize = 16 << 10;

/// Largest GPU memory for the joint histograms of a batch of transforms, and for the rows that are added up to them,
/// bytes. A batch that needs more is divided into parts.
const BATCH_BYTES: usize = 32 << 20;

impl Joint {
    fn new(parameters: &JointParameters) -> Joint {
        // A histogram row has at most as many copies in shared memory as a warp has lanes.
        let copies = (ROW_BYTES / (size_of::<u32>() * parameters.bins)).clamp(1, 32);
        Joint {
            low: parameters.low_high.0,
            scale: parameters.scale(),
            bins: parameters.bins as i32,
            copies: 1 << copies.ilog2(),
        }
    }

    fn shared_bytes(&self) -> u32 {
        (self.bins * self.copies) as u32 * size_of::<u32>() as u32
    }
}

pub(in crate::cuda) fn joint_histogram(
    cuda: &Cuda,
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    parameters: &JointParameters,
    fixed_to_moving: &AffineTransform,
) -> Result<Vec<u64>, Error> {
    Error::check_joint_bins(fixed.bins, parameters.bins)?;
    let cells = fixed.bins * parameters.bins;
    let maps = std::slice::from_ref(fixed_to_moving);
    // The weight of a point is 0 at the border of the moving volume. If the volume has an axis of one voxel, every
    // point is at the border. Without fixed voxels there is nothing to compare.
    let sampled = Sampled::of(fixed.shape, moving.shape, edge_voxels, maps);
    let Some(sampled) = sampled.filter(|_| fixed.segment_count > 0) else {
        return Ok(vec![0; cells]);
    };
    let operand = Moving::new(cuda, moving, moving_weight, sampled.shape, edge_voxels)?;
    let mut scratch = cuda.scratch();
    let buffers = &mut scratch.joint;
    cuda.fill_counts(buffers, fixed, operand, moving.len(), parameters, &sampled.maps)?;
    buffers.counts.as_ref().map_or(Ok(Vec::new()), |counts| counts.download(cells))
}

pub(in crate::cuda) fn joint_entropies(
    cuda: &Cuda,
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    parameters: &JointParameters,
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<Entropies>, Error> {
    Error::check_joint_bins(fixed.bins, parameters.bins)?;
    let sampled = Sampled::of(fixed.shape, moving.shape, edge_voxels, fixed_to_moving);
    let Some(sampled) = sampled.filter(|_| fixed.segment_count > 0) else {
        let nothing = Entropies { weight: 0.0, fixed: 0.0, moving: 0.0, joint: 0.0 };
        return Ok(vec![nothing; fixed_to_moving.len()]);
    };
    let operand = Moving::new(cuda, moving, moving_weight, sampled.shape, edge_voxels)?;
    let row = parameters.bins * (fixed.segment_count * size_of::<u32>() + fixed.bins * size_of::<u64>());
    let at_once = (BATCH_BYTES / row).clamp(1, MOST_TRANSFORMS);
    let kernels = cuda.kernels.joint_histogram(&cuda.device)?;
    let mut all = Vec::with_capacity(fixed_to_moving.len());
    for batch in sampled.maps.chunks(at_once) {
        let mut scratch = cuda.scratch();
        let buffers = &mut scratch.joint;
        let (counts, row_terms) = cuda.fill_counts(buffers, fixed, operand, moving.len(), parameters, batch)?;
        let out = grown(&mut buffers.entropies, 4 * batch.len(), &cuda.device)?;
        let launch = Launch {
            kernel: &kernels.joint_entropies,
            grid: [batch.len() as u32, 1, 1],
            block: [(parameters.bins.max(fixed.bins).next_multiple_of(32) as u32).min(1024), 1, 1],
            shared: 0,
            bytes: (8 * fixed.bins * parameters.bins * batch.len()) as u64,
        };
        let (fixed_bins, bins, entropies) = (fixed.bins as i32, parameters.bins as i32, out.pointer());
        // SAFETY: the launch has one block for each transform. For each transform, `counts` has a histogram,
        // `row_terms` has three numbers for each row, and `entropies` has four numbers.
        unsafe { cuda.launch(launch, arguments![counts, row_terms, fixed_bins, bins, entropies])? };
        all.extend(out.download(4 * batch.len())?.chunks_exact(4).map(|parts| Entropies {
            weight: parts[0] / f64::from(JointParameters::UNIT),
            fixed: parts[1],
            moving: parts[2],
            joint: parts[3],
        }));
    }
    Ok(all)
}

impl Cuda {
    /// Computes the joint histograms of a batch of transforms in `buffers`. Returns the address of their counters, and
    /// that of three numbers for each histogram row, from which the entropies are computed.
    fn fill_counts(
        &self,
        buffers: &mut JointBuffers,
        fixed: &FixedBins,
        moving: Moving,
        moving_voxels: usize,
        parameters: &JointParameters,
        batch: &[AffineTransform],
    ) -> Result<(u64, u64), Error> {
        let (transforms, bins, segments) = (batch.len(), parameters.bins, fixed.segment_count);
        let device = &self.device;
        let maps = uploaded(&mut buffers.maps, batch, device)?;
        let rows = grown(&mut buffers.rows, transforms * segments * bins, device)?.pointer();
        let counts = grown(&mut buffers.counts, transforms * fixed.bins * bins, device)?.pointer();
        let row_terms = grown(&mut buffers.row_terms, 3 * transforms * fixed.bins, device)?.pointer();
        let joint = Joint::new(parameters);
        let kernels = self.kernels.joint_histogram(device)?;
        let launch = Launch {
            kernel: match parameters.sampling {
                JointSampling::Trilinear => &kernels.joint_rows_trilinear,
                JointSampling::PartialVolume => &kernels.joint_rows_partial,
            },
            grid: [segments as u32, transforms as u32, 1],
            block: [THREADS, 1, 1],
            shared: joint.shared_bytes(),
            // The bytes that the profile of kernel times counts: the list of fixed voxels is read once for each
            // transform, but the moving image only once in all, because it stays in the cache.
            bytes: 4 * (fixed.counted * transforms + moving_voxels) as u64,
        };
        let (sorted, table) = (fixed.sorted.pointer(), fixed.segments.pointer());
        let weights = fixed.weights.as_ref().map_or(0, Buffer::pointer);
        let shape = Shape::of(fixed.shape);
        // SAFETY: the launch has one thread block for each transform and each segment of sorted fixed voxels, and
        // `rows` has `bins` counters for each block. The segments lie within the lists `sorted` and `weights`, bins are
        // clamped to the row, and textures clamp their coordinates. A segment has at most 8192 voxels, so no 32-bit
        // counter overflows.
        unsafe { self.launch(launch, arguments![sorted, weights, table, shape, moving, joint, maps, rows])? };
        let launch = Launch {
            kernel: &kernels.joint_counts,
            grid: [fixed.bins as u32, transforms as u32, 1],
            block: [256, 1, 1],
            shared: 0,
            bytes: (4 * transforms * segments * bins + 8 * transforms * fixed.bins * bins) as u64,
        };
        let (bin_segments, bins, segments) = (fixed.bin_segments.pointer(), bins as i32, segments as i32);
        // SAFETY: the launch has one block for each fixed bin and transform, and `bin_segments`, the first segment of
        // each fixed bin, has one element more than there are fixed bins.
        unsafe { self.launch(launch, arguments![rows, bin_segments, bins, segments, counts, row_terms])? };
        Ok((counts, row_terms))
    }
}
