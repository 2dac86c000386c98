//! The two images of a metric as a kernel argument, the scores that a kernel computes, and tiles.

use std::sync::Arc;

use crate::cuda::Cuda;
use crate::cuda::device::Device;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Shape};
use crate::cuda::module::Kernel;
use crate::cuda::pending::Pending;
use crate::{CcScores, Error};

/// The scores (energy and agreement) of a [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient). The device may
/// still be computing them.
pub struct CcPending {
    /// Three sums over the windows of all voxels: the local correlations, the number of windows that count, and their
    /// weights.
    sums: Pending,
}

impl CcPending {
    /// Takes page-locked memory for three sums, from which the energy and the agreement of the cross-correlation are
    /// computed. A kernel writes the sums to [`target`](CcPending::target).
    pub(in crate::cuda) fn new(device: &Arc<Device>) -> Result<CcPending, Error> {
        Ok(CcPending { sums: Pending::new(device)? })
    }

    /// Address to which a kernel writes the sums for energy and agreement of the cross-correlation.
    pub(in crate::cuda) fn target(&mut self) -> u64 {
        self.sums.target()
    }

    /// Must be called after the launch of the kernel that writes the sums for energy and agreement. Places a mark (a
    /// CUDA event) in the stream, so that the host can wait for this kernel.
    pub(in crate::cuda) fn under_way(&mut self) -> Result<(), Error> {
        self.sums.under_way()
    }

    /// Waits until the kernel has written its three sums, and returns the energy and the agreement computed from them.
    pub(in crate::cuda) fn wait(self) -> Result<CcScores, Error> {
        let [sum, count, weight] = self.sums.wait("cc_scores")?;
        Ok(CcScores {
            energy: if count > 0.0 { -sum / count } else { 0.0 },
            agreement: if weight > 0.0 { sum / weight } else { 0.0 },
        })
    }
}

/// The images of the windowed cross-correlation as a kernel argument: both images and their masks, with the layout of
/// `Pair` in `cu/cross_correlation.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct ComparedImages {
    fixed: u64,
    moving: u64,
    fixed_mask: u64,
    moving_mask: u64,
    shape: Shape,
    noise_variance: f32,
}
impl Argument for ComparedImages {}

impl ComparedImages {
    pub(in crate::cuda) fn new(
        [fixed, moving]: [&Image; 2],
        masks: [Option<&Image>; 2],
        noise_variance: f32,
    ) -> ComparedImages {
        let [fixed_mask, moving_mask] = masks.map(|mask| mask.map_or(0, Image::read));
        let (shape, fixed, moving) = (Shape::of(fixed.shape), fixed.read(), moving.read());
        ComparedImages { fixed, moving, fixed_mask, moving_mask, shape, noise_variance }
    }
}

/// Number of columns of a tile along x and along y, as in `cu/box_sums.cuh`. Each thread processes one column.
const TILE: [usize; 2] = [32, 8];

/// Prepares the launch of a kernel whose threads process columns of voxels and read up to `radius` voxels around
/// each. Also returns the number of slices that a block processes.
pub(in crate::cuda) fn tiles<'a>(
    cuda: &Cuda,
    kernel: &'a Kernel,
    [nx, ny, nz]: [usize; 3],
    radius: usize,
    bytes: u64,
) -> Result<(Launch<'a>, i32), Error> {
    let (columns, rows) = (nx.div_ceil(TILE[0]), ny.div_ceil(TILE[1]));
    let threads = (TILE[0] * TILE[1]) as u32;
    let depth = cuda.depth_of_blocks(kernel, threads, columns * rows, nz, 2 * radius)?;
    let block = [TILE[0] as u32, TILE[1] as u32, 1];
    let grid = [columns as u32, rows as u32, nz.div_ceil(depth) as u32];
    Ok((Launch { kernel, grid, block, shared: 0, bytes }, depth as i32))
}
