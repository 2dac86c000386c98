//! Fixed voxels sorted by bin and divided into segments of one bin each (Li 2015, 3.6.1), computed once for each
//! resolution level of a registration.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::cuda::similarity::bricks::{Binning, FixedBricks};

/// Fixed voxels sorted by histogram bin, on the device.
pub struct FixedBins {
    pub(in crate::cuda) shape: [usize; 3],
    pub(in crate::cuda) bins: usize,
    /// The positions in memory of all fixed voxels with a positive weight, sorted by histogram bin.
    pub(in crate::cuda) sorted: Buffer<u32>,
    /// The weight of each fixed voxel in the list `sorted`, in the same order; `None` if the image has no weights.
    pub(in crate::cuda) weights: Option<Buffer<f32>>,
    /// Start and end of each segment: a part of the list `sorted` with voxels of a single bin.
    pub(in crate::cuda) segments: Buffer<[u32; 2]>,
    /// A segment is a part of the list `sorted` with voxels of a single bin. This is the number of the first segment of
    /// each bin, followed by the number of all segments.
    pub(in crate::cuda) bin_segments: Buffer<u32>,
    /// Total number of segments: parts of the list `sorted` with voxels of a single bin.
    pub(in crate::cuda) segment_count: usize,
    /// Number of fixed voxels that count: voxels with weight zero do not.
    pub(in crate::cuda) counted: usize,
    /// The bin of each fixed voxel, stored brick by brick (8×8×4 voxels); `None` if the voxels have weights.
    pub(in crate::cuda) bricks: Option<FixedBricks>,
}

/// Number of voxels of a brick along each axis, and number of bricks that a warp processes, as in `cu/bin_fixed.cu`.
const BRICK: usize = 8;
const BRICKS_PER_WARP: usize = 4;

/// Largest number of bins: a warp keeps one counter per bin in 48 KiB of shared memory.
const MOST_BINS: usize = 48 * 1024 / size_of::<u32>();

/// The list of fixed voxels sorted by bin is divided into segments, one for each thread block. Number of voxels of a
/// segment: enough to hide the cost of starting a thread block, few enough that the segments fill the device.
fn segment_length(counted: usize, multiprocessors: u32) -> usize {
    (counted / (16 * multiprocessors as usize)).next_multiple_of(128).clamp(512, 8192)
}

/// Tables that the host computes for the list of fixed voxels sorted by bin: the start of each bin, the segments (parts
/// of the list with voxels of one bin), and the first segment of each bin.
struct Segments {
    counted: usize,
    starts: Vec<u32>,
    segments: Vec<[u32; 2]>,
    bin_segments: Vec<u32>,
}

impl Segments {
    fn new(totals: &[u32], multiprocessors: u32) -> Segments {
        let counted = totals.iter().map(|total| *total as usize).sum();
        let length = segment_length(counted, multiprocessors);
        let mut table = Segments { counted, starts: Vec::new(), segments: Vec::new(), bin_segments: vec![0] };
        let mut start = 0;
        for total in totals {
            let end = start + total;
            table.starts.push(start);
            let cuts = (start..end).step_by(length);
            table.segments.extend(cuts.map(|cut| [cut, end.min(cut + length as u32)]));
            table.bin_segments.push(table.segments.len() as u32);
            start = end;
        }
        table
    }
}

pub(in crate::cuda) fn bin_fixed(
    cuda: &Cuda,
    fixed: &Image,
    weight: Option<&Image>,
    (low, high): (f32, f32),
    bins: usize,
) -> Result<FixedBins, Error> {
    Error::check_shapes("bin_fixed", fixed.shape, weight.map(|weight| weight.shape))?;
    if bins == 0 || bins > MOST_BINS || u32::try_from(fixed.len()).is_err() {
        return Err(Error::Bins { bins, most: MOST_BINS, shape: fixed.shape });
    }
    let scale = if high > low { bins as f32 / (high - low) } else { 0.0 };
    let binning = Binning { low, scale, bins: bins as f32 };
    let bricks: usize = fixed.shape.iter().map(|n| n.div_ceil(BRICK)).product();
    let warps = bricks.div_ceil(BRICKS_PER_WARP) as u32;
    let counts = Buffer::<u32>::uninitialised(&cuda.device, bins * warps as usize)?;
    let totals = Buffer::<u32>::uninitialised(&cuda.device, bins)?;
    let kernels = cuda.kernels.bin_fixed(&cuda.device)?;
    let by_warp = Launch {
        shared: (bins * size_of::<u32>()) as u32,
        ..Launch::of_blocks(&kernels.count_bins, warps, 32, 4 * fixed.len() as u64)
    };
    let (values, weight_values, shape) = (fixed.read(), weight.map_or(0, Image::read), Shape::of(fixed.shape));
    let (count, total) = (counts.pointer(), totals.pointer());
    // SAFETY: `counts` has one counter for each bin and each warp of the launch, and the kernel skips positions
    // outside the volume.
    unsafe { cuda.launch(by_warp, arguments![values, weight_values, shape, binning, warps, count])? };
    let by_bin = Launch::of_blocks(&kernels.scan_bins, bins as u32, 256, 8 * bins as u64 * u64::from(warps));
    // SAFETY: `counts` has one counter for each bin and each warp of the launch before, and `totals` has one
    // element for each bin.
    unsafe { cuda.launch(by_bin, arguments![warps, count, total])? };

    let totals = totals.download(bins)?;
    let bricks = match weight {
        None => FixedBricks::of(cuda, fixed, binning, &totals)?,
        Some(_) => None,
    };
    let table = Segments::new(&totals, cuda.device.info.multiprocessors);
    let sorted = Buffer::<u32>::uninitialised(&cuda.device, table.counted)?;
    let weights = match weight {
        Some(_) => Some(Buffer::<f32>::uninitialised(&cuda.device, table.counted)?),
        None => None,
    };
    let starts = Buffer::from_slice(&cuda.device, &table.starts)?;
    let scatter = Launch { kernel: &kernels.scatter_bins, bytes: 8 * fixed.len() as u64, ..by_warp };
    let (start, order) = (starts.pointer(), sorted.pointer());
    let sorted_weight = weights.as_ref().map_or(0, Buffer::pointer);
    // SAFETY: `counts` has one counter for each bin and each warp, and the kernel skips positions outside the
    // volume. `sorted` and `weights` have one element for each fixed voxel that was counted.
    unsafe {
        cuda.launch(
            scatter,
            arguments![values, weight_values, shape, binning, warps, count, start, order, sorted_weight],
        )?;
    }
    Ok(FixedBins {
        shape: fixed.shape,
        bins,
        sorted,
        weights,
        segments: Buffer::from_slice(&cuda.device, &table.segments)?,
        bin_segments: Buffer::from_slice(&cuda.device, &table.bin_segments)?,
        segment_count: table.segments.len(),
        counted: table.counted,
        bricks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_each_bin_once_and_cross_no_border() {
        let totals = [0, 5, 70_000, 0, 513, 1];
        let table = Segments::new(&totals, 2);
        assert_eq!(table.counted, 70_519);
        let mut at = 0;
        for (bin, total) in totals.iter().enumerate() {
            assert_eq!(table.starts[bin], at);
            let own = &table.segments[table.bin_segments[bin] as usize..table.bin_segments[bin + 1] as usize];
            for [start, end] in own {
                assert_eq!(*start, at);
                assert!(*end > at && (end - at) as usize <= segment_length(70_519, 2));
                at = *end;
            }
            assert_eq!(at, table.starts[bin] + total);
        }
    }
}
