//! The correlation ratio of a batch of transforms for images without weights, brick by brick
//! (`cu/correlation_ratio_bricks.cu`): the data that does not depend on the transforms, and the launches of the
//! kernels.

use std::sync::Arc;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::batch_buffers::BatchBuffers;
use crate::cuda::buffer::{Buffer, grown};
use crate::cuda::device::Device;
use crate::cuda::image::{Backdrop, Image};
use crate::cuda::launch::{Argument, Launch, Size, Vector, arguments};
use crate::cuda::similarity::samples::per_edge;

/// Three numbers: voxels of a brick along each axis, successive bricks of a run, and largest number of bricks that a
/// thread block processes. They are as in `cu/bricks.cuh` and `cu/correlation_ratio_bricks.cu`.
const BRICK: [usize; 3] = [8, 8, 4];
const RUN: usize = 8;
const MOST_BRICKS: usize = 120;
/// Number of moving voxels of a cell along each axis.
const CELL: usize = 2;
/// Number of threads of a block in the kernels of the correlation ratio.
const THREADS: u32 = 256;
/// Largest number of bins for which the correlation ratio is computed brick by brick. With more bins, few thread blocks
/// would fit on a multiprocessor.
const MOST_BINS: usize = 1024;
/// Approximate number of thread blocks for a batch of transforms, as a multiple of the number that fills the device.
const WAVES: usize = 2;

/// Kernel argument with the layout of the structure `Binning` in `cu/binning.cuh`: map from fixed values to bins.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct Binning {
    pub(in crate::cuda) low: f32,
    pub(in crate::cuda) scale: f32,
    pub(in crate::cuda) bins: f32,
}
impl Argument for Binning {}

/// Kernel argument with the layout of the structure `Operands` in `cu/correlation_ratio_bricks.cu`: the fixed bins, the
/// moving image, and data derived from them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Operands {
    fixed: u64,
    moving: u64,
    texture: u64,
    distance: u64,
    largest: u64,
    shape: Size,
    bricks: Size,
    moving_shape: Size,
    cells: Size,
    per_edge: Vector,
    bins: i32,
    hot: i32,
    unit: f32,
}
impl Argument for Operands {}

/// The histogram bins of the voxels of a fixed image, stored brick by brick (8×8×4 voxels).
pub(in crate::cuda) struct FixedBricks {
    placed: Buffer<u16>,
    /// Number of fixed voxels of each bin.
    in_bin: Buffer<u32>,
    /// The bin with the most fixed voxels.
    hot: usize,
}

fn count(shape: [usize; 3], of: [usize; 3]) -> [usize; 3] {
    std::array::from_fn(|axis| shape[axis].div_ceil(of[axis]))
}

/// Number of thread blocks for each transform: enough to fill the GPU, and enough that no block has more than
/// `MOST_BRICKS` bricks of fixed voxels. At most the number of runs, which are groups of `RUN` successive bricks.
fn blocks(bricks: usize, transforms: usize, resident: usize) -> usize {
    let runs = bricks.div_ceil(RUN);
    (WAVES * resident).div_ceil(transforms).min(runs).max(runs.div_ceil(MOST_BRICKS / RUN))
}

/// The integer that stands for a weight of 1: the largest power of two for which the 31-bit sums of a block and the
/// 64-bit sums of squares cannot overflow, and for which rounding by addition in single precision is exact.
fn unit(bricks: usize, blocks: usize) -> f32 {
    let voxels = |bricks: usize| bricks * BRICK.iter().product::<usize>();
    let of_block = voxels(bricks.div_ceil(RUN).div_ceil(blocks.max(1)) * RUN).max(1);
    let of_sums = (i32::MAX as usize / of_block).max(1).ilog2();
    let of_squares = (u64::MAX / voxels(bricks).max(1) as u64).max(1).ilog2() / 2;
    (1_u32 << of_sums.min(of_squares).min(21)) as f32
}

impl FixedBricks {
    /// Computes the bins of a fixed image without weights, brick by brick; `None` if there are too many bins.
    pub(in crate::cuda) fn of(
        cuda: &Cuda,
        fixed: &Image,
        binning: Binning,
        totals: &[u32],
    ) -> Result<Option<FixedBricks>, Error> {
        if totals.len() > MOST_BINS {
            return Ok(None);
        }
        let device = &cuda.device;
        let bricks = count(fixed.shape, BRICK);
        let places = bricks.iter().chain(&BRICK).product::<usize>();
        let placed = Buffer::<u16>::uninitialised(device, places)?;
        let in_bin = Buffer::from_slice(device, totals)?;
        let kernel = &cuda.kernels.ratio_bricks(&cuda.device)?.place_bins;
        let launch = Launch::over_elements(kernel, places, THREADS, 6 * fixed.len() as u64);
        let (values, shape, per_axis) = (fixed.read(), Size::of(fixed.shape), Size::of(bricks));
        let (in_bins, places, out) = (in_bin.pointer(), places as u32, placed.pointer());
        // SAFETY: `placed` has one element for each voxel of each brick (block of fixed voxels). Each thread writes one
        // element, and threads beyond the last element return. Bin numbers are below the length of `in_bin`.
        unsafe { cuda.launch(launch, arguments![values, shape, per_axis, binning, in_bins, places, out])? };
        let hot = (0..totals.len()).max_by_key(|bin| totals[*bin]).unwrap_or(0);
        Ok(Some(FixedBricks { placed, in_bin, hot }))
    }
}

/// Computes the backdrop of an image.
fn backdrop_of(cuda: &Cuda, image: &Image) -> Result<Backdrop, Error> {
    let device: &Arc<Device> = &cuda.device;
    let cells = count(image.shape, [CELL; 3]);
    let all: usize = cells.iter().product();
    let (first, second) = (Buffer::<u16>::uninitialised(device, all)?, Buffer::<u16>::uninitialised(device, all)?);
    let largest = Buffer::<u32>::zeroed(device, 1)?;
    let kernels = cuda.kernels.ratio_bricks(&cuda.device)?;
    let launch = Launch::over_elements(&kernels.empty_cells, all, THREADS, 4 * image.len() as u64);
    let (values, shape, per_axis) = (image.read(), Size::of(image.shape), Size::of(cells));
    let (distance, most) = (first.pointer(), largest.pointer());
    // SAFETY: each thread processes one cell (2×2×2 voxels), and threads beyond the last cell write nothing.
    unsafe { cuda.launch(launch, arguments![values, shape, per_axis, distance, most])? };
    let strides = [1, cells[0], cells[0] * cells[1]];
    let along = Launch { kernel: &kernels.cell_distances, bytes: 4 * all as u64, ..launch };
    for (axis, (from, to)) in [(&first, &second), (&second, &first), (&first, &second)].into_iter().enumerate() {
        let (from, to) = (from.pointer(), to.pointer());
        let (cells_in_all, stride, length) = (all as u32, strides[axis] as u32, cells[axis] as u32);
        // SAFETY: both arrays have one number for each cell (2×2×2 voxels). A thread reads only cells on its own
        // line along the axis.
        unsafe { cuda.launch(along, arguments![from, cells_in_all, stride, length, to])? };
    }
    Ok(Backdrop { distance: second, largest })
}

/// The input of the correlation ratio for a batch of transforms: the binned fixed image, the moving image, and the
/// width of the zone at the border of the moving image in which weights rise from 0 to 1.
pub(in crate::cuda) struct Batch<'b> {
    pub(in crate::cuda) shape: [usize; 3],
    pub(in crate::cuda) bins: usize,
    pub(in crate::cuda) fixed: &'b FixedBricks,
    pub(in crate::cuda) moving: &'b Image,
    pub(in crate::cuda) edge_voxels: [f64; 3],
    pub(in crate::cuda) filtered: bool,
}

impl Batch<'_> {
    /// Computes the correlation ratio cost of each transform; the maps are on the device already. A cost is NaN if
    /// integer sums are not accurate enough for it.
    pub(in crate::cuda) fn costs(
        &self,
        cuda: &Cuda,
        buffers: &mut BatchBuffers,
        maps: u64,
        transforms: usize,
    ) -> Result<Vec<f64>, Error> {
        let device = &cuda.device;
        let backdrop = self.moving.backdrop(|| backdrop_of(cuda, self.moving))?;
        let bricks = count(self.shape, BRICK);
        let kernels = cuda.kernels.ratio_bricks(&cuda.device)?;
        let kernel = match self.filtered {
            true => &cuda.kernels.ratio_bricks_filtered(device)?.ratio_bricks_filtered,
            false => &kernels.ratio_bricks_exact,
        };
        let resident = kernel.resident_blocks(THREADS)? * device.info.multiprocessors as usize;
        let brick_count = bricks.iter().product();
        let blocks = blocks(brick_count, transforms, resident);
        let unit = unit(brick_count, blocks);
        let operands = Operands {
            fixed: self.fixed.placed.pointer(),
            moving: self.moving.read(),
            texture: if self.filtered { self.moving.texture(device)?.filtered } else { 0 },
            distance: backdrop.distance.pointer(),
            largest: backdrop.largest.pointer(),
            shape: Size::of(self.shape),
            bricks: Size::of(bricks),
            moving_shape: Size::of(self.moving.shape),
            cells: Size::of(count(self.moving.shape, [CELL; 3])),
            per_edge: per_edge(self.edge_voxels),
            bins: self.bins as i32,
            hot: self.fixed.hot as i32,
            unit,
        };
        let row = 3 * self.bins + 1;
        let totals = grown(&mut buffers.totals, row * transforms, device)?;
        totals.clear(0..row * transforms)?;
        let totals = totals.pointer();
        let launch = Launch {
            kernel,
            grid: [blocks as u32, transforms as u32, 1],
            block: [THREADS, 1, 1],
            shared: 12 * self.bins as u32,
            // The bytes that the profile of kernel times counts: the bins of the fixed voxels are read once for each
            // transform, but the moving image only once in all, because it stays in the cache.
            bytes: (2 * self.shape.iter().product::<usize>() * transforms + 4 * self.moving.len()) as u64,
        };
        // SAFETY: the blocks of a transform share all bricks, and none has more than `MOST_BRICKS`. Shared memory has
        // three words for each bin. `totals` has three sums for each bin and one further sum, for each transform.
        // Positions are clamped to the moving image.
        unsafe { cuda.launch(launch, arguments![operands, maps, totals])? };
        let costs = grown(&mut buffers.costs, transforms, device)?;
        let launch =
            Launch::of_blocks(&kernels.ratio_bricks_costs, transforms as u32, THREADS, (8 * row * transforms) as u64);
        let (in_bin, bins, out) = (self.fixed.in_bin.pointer(), self.bins as i32, costs.pointer());
        // SAFETY: the launch has one thread block for each transform. For each transform, `totals` has the sums of all
        // its bins and `costs` has one number.
        unsafe { cuda.launch(launch, arguments![totals, in_bin, bins, unit, out])? };
        costs.download(transforms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_lie_as_the_kernels_expect_them() {
        let at = [
            std::mem::offset_of!(Operands, largest),
            std::mem::offset_of!(Operands, shape),
            std::mem::offset_of!(Operands, per_edge),
            std::mem::offset_of!(Operands, hot),
            size_of::<Operands>(),
        ];
        assert_eq!(at, [32, 40, 88, 104, 112]);
    }

    #[test]
    fn no_block_takes_more_bricks_than_it_can() {
        for bricks in [1, 54, 23_814, 400_000] {
            for transforms in [1, 24, 600, 65_535] {
                let blocks = blocks(bricks, transforms, 528);
                assert!(bricks.div_ceil(RUN).div_ceil(blocks) * RUN <= MOST_BRICKS);
                assert!(blocks <= bricks.div_ceil(RUN));
                let (unit, of_block) = (f64::from(unit(bricks, blocks)), bricks.div_ceil(RUN).div_ceil(blocks) * RUN);
                assert!((65_536.0..=2_097_152.0).contains(&unit) && of_block as f64 * 256.0 * unit < 2_147_483_648.0);
                assert!(bricks as f64 * 256.0 * unit * unit < 18_446_744_073_709_551_616.0);
            }
        }
    }
}
