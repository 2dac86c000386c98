//! Windowed cross-correlation of two images and its gradient, computed on tiles that slide along z.

use std::sync::Arc;

use super::Cuda;
use super::buffer::Buffer;
use super::device::Device;
use super::direct::DirectCc;
use super::field::{Field, plane};
use super::image::Image;
use super::kernels::CcKernel;
use super::launch::{Argument, Launch, Shape, Vector, arguments};
use super::module::Kernel;
use super::pending::Pending;
use crate::{CcDerivative, CcParameters, CcScores, Error};

/// GPU buffers of [`Backend::cc_update`](crate::Backend::cc_update), the update by windowed cross-correlation. They are
/// allocated when first needed. Scratch fields of the caller may replace them.
pub struct CcWorkspace {
    shape: [usize; 3],
    /// The five terms of the exact derivative of the cross-correlation for the window of each voxel; each term has a
    /// plane of memory.
    terms: Option<Buffer<f32>>,
    /// Textures and surfaces for the direct kernels (`direct.rs`). These serve window radii that the tiled kernels do
    /// not support.
    direct: Option<DirectCc>,
}

/// The scores (energy and agreement) of a [`Backend::cc_update`](crate::Backend::cc_update). The device may still be
/// computing them.
pub struct CcPending {
    /// Three sums over the windows of all voxels: the local correlations, the number of windows that count, and their
    /// weights.
    sums: Pending,
}

impl CcPending {
    /// Takes page-locked memory for three sums, from which the energy and the agreement of the cross-correlation are
    /// computed. A kernel writes the sums to [`target`](CcPending::target).
    pub(super) fn new(device: &Arc<Device>) -> Result<CcPending, Error> {
        Ok(CcPending { sums: Pending::new(device)? })
    }

    /// Address to which a kernel writes the sums for energy and agreement of the cross-correlation.
    pub(super) fn target(&mut self) -> u64 {
        self.sums.target()
    }

    /// Must be called after the launch of the kernel that writes the sums for energy and agreement. Places a mark (a
    /// CUDA event) in the stream, so that the host can wait for this kernel.
    pub(super) fn under_way(&mut self) -> Result<(), Error> {
        self.sums.under_way()
    }

    /// Waits until the kernel has written its three sums, and returns the energy and the agreement computed from them.
    pub(super) fn wait(self) -> Result<CcScores, Error> {
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
pub(super) struct Pair {
    fixed: u64,
    moving: u64,
    fixed_mask: u64,
    moving_mask: u64,
    shape: Shape,
    metric: Vector,
    noise_variance: f32,
}
impl Argument for Pair {}

impl Pair {
    pub(super) fn new(
        fixed: &Image,
        moving: &Image,
        masks: [Option<&Image>; 2],
        spacing: [f64; 3],
        noise_variance: f32,
    ) -> Pair {
        let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        let [fixed_mask, moving_mask] = masks.map(|mask| mask.map_or(0, Image::read));
        Pair {
            fixed: fixed.read(),
            moving: moving.read(),
            fixed_mask,
            moving_mask,
            shape: Shape::of(fixed.shape),
            metric: Vector(spacing.map(|spacing| (finest / spacing).powi(2) as f32)),
            noise_variance,
        }
    }
}

/// Number of columns of a tile along x and along y, as in `cu/box_sums.cuh`. Each thread processes one column.
const TILE: [usize; 2] = [32, 8];

impl Cuda {
    pub(super) fn new_cc_workspace(&self, shape: [usize; 3]) -> Result<CcWorkspace, Error> {
        Ok(CcWorkspace { shape, terms: None, direct: None })
    }

    pub(super) fn cc_both_updates(
        &self,
        [fixed, moving]: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &CcParameters,
        workspace: &mut CcWorkspace,
        [fixed_update, moving_update]: [&mut Field; 2],
        scratch_fields: Option<[&mut Field; 2]>,
    ) -> Result<CcPending, Error> {
        let shape = fixed.shape;
        let found = [moving.shape, fixed_update.shape, moving_update.shape, workspace.shape];
        Error::check_shapes("cc_update", shape, found)?;
        Error::check_shapes("cc_update", shape, masks.into_iter().flatten().map(|mask| mask.shape))?;
        Error::check_shapes("cc_update", shape, scratch_fields.iter().flatten().map(|field| field.shape))?;
        let masked = masks.iter().any(Option::is_some);
        if parameters.radius > CcParameters::MOST_TILED_RADIUS
            && !masked
            && parameters.derivative == CcDerivative::Centre
        {
            let direct = match &mut workspace.direct {
                Some(direct) => direct,
                none => none.insert(self.direct_cc(shape)?),
            };
            return direct.update(self, fixed, moving, parameters, fixed_update, moving_update);
        }
        let compiled = |which| self.kernels.cc_tiled(which, parameters.radius, &self.device);
        let pair = Pair::new(fixed, moving, masks, parameters.spacing, parameters.noise_variance);
        let voxels = fixed.len() as u64;
        let mut pending = CcPending::new(&self.device)?;
        match parameters.derivative {
            CcDerivative::Centre => {
                let kernel = compiled(if masked { CcKernel::CentreMasked } else { CcKernel::Centre })?;
                let (launch, depth) = self.tiles(kernel, shape, parameters.radius, (2 + 6) * 4 * voxels)?;
                let mut scratch = self.scratch();
                scratch.reserve(&self.device, launch.blocks())?;
                let (f, m) = (fixed_update.write(), moving_update.write());
                let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
                let result = pending.target();
                // SAFETY: all volumes have one shape, and the kernel reads and writes only voxels within it. `partial`
                // has room for three partial sums of each thread block.
                unsafe { self.launch(launch, arguments![pair, depth, f, m, partial, counter, result])? };
                pending.under_way()?;
            }
            CcDerivative::Exact => {
                // Two fields that follow each other in memory are six planes.
                let lent = scratch_fields.filter(|[first, second]| first.is_before(second));
                let windows = match (lent, &workspace.terms) {
                    (Some([first, _]), _) => first.write(),
                    (None, Some(terms)) => terms.pointer(),
                    (None, None) => {
                        let terms = Buffer::uninitialised(&self.device, CcParameters::TERMS * plane(shape))?;
                        workspace.terms.insert(terms).pointer()
                    }
                };
                let kernel = compiled(if masked { CcKernel::TermsMasked } else { CcKernel::Terms })?;
                let (launch, depth) = self.tiles(kernel, shape, parameters.radius, (2 + 5) * 4 * voxels)?;
                let mut scratch = self.scratch();
                scratch.reserve(&self.device, launch.blocks())?;
                let (f, m) = (fixed_update.write(), moving_update.write());
                let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
                let result = pending.target();
                // SAFETY: all volumes have one shape, and the kernel reads and writes only voxels within it. `partial`
                // has three numbers for each block, and `windows` has five planes.
                unsafe { self.launch(launch, arguments![pair, depth, windows, partial, counter, result])? };
                pending.under_way()?;
                let kernel = compiled(CcKernel::Exact)?;
                let (launch, depth) = self.tiles(kernel, shape, parameters.radius, (2 + 5 + 6) * 4 * voxels)?;
                // SAFETY: the updates `f` (fixed) and `m` (moving) are fields of this shape, and `windows` has five
                // planes, one for each term of the exact derivative.
                unsafe { self.launch(launch, arguments![pair, depth, windows, f, m])? };
            }
        }
        Ok(pending)
    }

    /// Prepares the launch of a kernel whose threads process columns of voxels and read up to `radius` voxels around
    /// each. Also returns the number of slices that a block processes.
    pub(super) fn tiles<'a>(
        &self,
        kernel: &'a Kernel,
        [nx, ny, nz]: [usize; 3],
        radius: usize,
        bytes: u64,
    ) -> Result<(Launch<'a>, i32), Error> {
        let (columns, rows) = (nx.div_ceil(TILE[0]), ny.div_ceil(TILE[1]));
        let threads = (TILE[0] * TILE[1]) as u32;
        let depth = self.depth_of_blocks(kernel, threads, columns * rows, nz, 2 * radius)?;
        let block = [TILE[0] as u32, TILE[1] as u32, 1];
        let grid = [columns as u32, rows as u32, nz.div_ceil(depth) as u32];
        Ok((Launch { kernel, grid, block, shared: 0, bytes }, depth as i32))
    }
}
