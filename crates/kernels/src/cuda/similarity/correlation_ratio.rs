//! The correlation ratio of a batch of transforms: brick by brick for images without weights, from sorted segments of
//! voxels for images with weights.

use std::sync::atomic::Ordering;

use antsreg_core::AffineTransform;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::{Buffer, grown};
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::cuda::similarity::bin_fixed::FixedBins;
use crate::cuda::similarity::bricks::Batch;
use crate::cuda::similarity::sampled::Sampled;
use crate::cuda::similarity::samples::{MOST_TRANSFORMS, Moving, uploaded};

/// Number of threads of a thread block, which adds up one segment: a part of the list of fixed voxels sorted by bin,
/// with voxels of one bin.
const THREADS: u32 = 128;

pub(in crate::cuda) fn correlation_ratio(
    cuda: &Cuda,
    fixed: &FixedBins,
    moving: &Image,
    moving_weight: Option<&Image>,
    edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<f64>, Error> {
    Error::check_shapes("correlation_ratio", moving.shape, moving_weight.map(|weight| weight.shape))?;
    // The weight of a point is 0 at the border of the moving volume. If the volume has an axis of one voxel, every
    // point is at the border. Without fixed voxels there is nothing to compare.
    let sampled = Sampled::of(fixed.shape, moving.shape, edge_voxels, fixed_to_moving);
    let Some(sampled) = sampled.filter(|_| fixed.segment_count > 0) else {
        return Ok(vec![1.0; fixed_to_moving.len()]);
    };
    let filtered = cuda.filtered.load(Ordering::Relaxed);
    // A slice is sampled as a volume of two equal slices, and only a texture provides this volume. The kernels that
    // process the fixed image in bricks cannot use it, because they read the moving image itself.
    let volume = sampled.shape == moving.shape;
    if let (Some(bricks), None, true) = (&fixed.bricks, moving_weight, volume) {
        let batch = Batch { shape: fixed.shape, bins: fixed.bins, fixed: bricks, moving, edge_voxels, filtered };
        return cuda.by_bricks(fixed, &batch, &sampled);
    }
    cuda.by_segments(fixed, moving, moving_weight, edge_voxels, filtered, &sampled)
}

impl Cuda {
    /// Computes the correlation ratio cost of each transform of a batch for images without weights. The kernels process
    /// the fixed image in bricks of 8×8×4 voxels.
    fn by_bricks(&self, fixed: &FixedBins, batch: &Batch<'_>, sampled: &Sampled<'_>) -> Result<Vec<f64>, Error> {
        let mut costs = Vec::with_capacity(sampled.maps.len());
        for transforms in sampled.maps.chunks(MOST_TRANSFORMS) {
            let mut scratch = self.scratch();
            let buffers = &mut scratch.batch;
            let maps = uploaded(&mut buffers.maps, transforms, &self.device)?;
            costs.extend(batch.costs(self, buffers, maps, transforms.len())?);
        }
        let again: Vec<usize> = (0..costs.len()).filter(|at| costs[*at].is_nan()).collect();
        if !again.is_empty() {
            let maps: Vec<AffineTransform> = again.iter().map(|at| sampled.maps[*at]).collect();
            let sampled = Sampled { shape: sampled.shape, maps: maps.into() };
            let found = self.by_segments(fixed, batch.moving, None, batch.edge_voxels, batch.filtered, &sampled)?;
            again.iter().zip(found).for_each(|(at, cost)| costs[*at] = cost);
        }
        Ok(costs)
    }

    fn by_segments(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        filtered: bool,
        sampled: &Sampled<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut operand = Moving::new(self, moving, moving_weight, sampled.shape, edge_voxels)?;
        if filtered {
            operand = operand.filtered(self, moving)?;
        }
        let mut costs = Vec::with_capacity(sampled.maps.len());
        for batch in sampled.maps.chunks(MOST_TRANSFORMS) {
            costs.extend(self.batch(fixed, operand, moving.len(), filtered, batch)?);
        }
        Ok(costs)
    }

    fn batch(
        &self,
        fixed: &FixedBins,
        moving: Moving,
        moving_voxels: usize,
        filtered: bool,
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        let transforms = fixed_to_moving.len();
        let mut scratch = self.scratch();
        let buffers = &mut scratch.batch;
        let device = &self.device;
        let maps = uploaded(&mut buffers.maps, fixed_to_moving, device)?;
        let sums = grown(&mut buffers.sums, 4 * transforms * fixed.segment_count, device)?.pointer();
        let cost_buffer = grown(&mut buffers.costs, transforms, device)?;
        let kernels = self.kernels.correlation_ratio(device)?;
        let launch = Launch {
            kernel: match filtered {
                true => &kernels.correlation_ratio_filtered,
                false => &kernels.correlation_ratio_exact,
            },
            grid: [fixed.segment_count as u32, transforms as u32, 1],
            block: [THREADS, 1, 1],
            shared: 0,
            // The bytes that the profile of kernel times counts: the list of fixed voxels is read once for each
            // transform, but the moving image only once in all, because it stays in the cache.
            bytes: 4 * (fixed.counted * transforms + moving_voxels) as u64,
        };
        let (sorted, segments) = (fixed.sorted.pointer(), fixed.segments.pointer());
        let weights = fixed.weights.as_ref().map_or(0, Buffer::pointer);
        let shape = Shape::of(fixed.shape);
        // SAFETY: the launch has one thread block for each transform and each segment of sorted fixed voxels, and
        // `sums` has four floats for each block. The segments lie within the lists `sorted` and `weights`, and textures
        // clamp their coordinates.
        unsafe { self.launch(launch, arguments![sorted, weights, segments, shape, moving, maps, sums])? };
        let bytes = 16 * (transforms * fixed.segment_count) as u64;
        let launch = Launch::of_blocks(&kernels.correlation_ratio_costs, transforms as u32, 1024, bytes);
        let (bin_segments, costs) = (fixed.bin_segments.pointer(), cost_buffer.pointer());
        let (bins, segments) = (fixed.bins as i32, fixed.segment_count as i32);
        // SAFETY: `bin_segments`, the first segment of each bin, has one element more than there are bins. `costs` has
        // one element for each transform.
        unsafe { self.launch(launch, arguments![sums, bin_segments, bins, segments, costs])? };
        cost_buffer.download(transforms)
    }
}
