//! Windowed cross-correlation of two images and its gradient, computed on tiles that slide along z.

use std::ops::Range;
use std::sync::Arc;

use super::Cuda;
use super::buffer::Buffer;
use super::device::Device;
use super::direct::DirectCc;
use super::field::{Field, plane};
use super::image::Image;
use super::kernels::CcKernel;
use super::launch::{Argument, Launch, Shape, arguments};
use super::module::Kernel;
use super::pending::Pending;
use super::update::Output;
use crate::term_slabs::{TermSlab, term_slabs};
use crate::{CcDerivative, CcParameters, CcScores, Error, MetricOutput};

/// GPU buffers of [`Backend::cc_gradient`](crate::Backend::cc_gradient). They are allocated when first needed. A
/// scratch field of the caller may replace them.
pub struct CcWorkspace {
    shape: [usize; 3],
    /// The five terms of the exact derivative of the cross-correlation for the window of each voxel, one term after the
    /// other.
    terms: Option<Buffer<f32>>,
    /// Textures and surfaces for the direct kernels (`direct.rs`). These serve window radii that the tiled kernels do
    /// not support.
    direct: Option<DirectCc>,
}

/// The scores (energy and agreement) of a [`Backend::cc_gradient`](crate::Backend::cc_gradient). The device may
/// still be computing them.
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
    noise_variance: f32,
}
impl Argument for Pair {}

impl Pair {
    pub(super) fn new([fixed, moving]: [&Image; 2], masks: [Option<&Image>; 2], noise_variance: f32) -> Pair {
        let [fixed_mask, moving_mask] = masks.map(|mask| mask.map_or(0, Image::read));
        let (shape, fixed, moving) = (Shape::of(fixed.shape), fixed.read(), moving.read());
        Pair { fixed, moving, fixed_mask, moving_mask, shape, noise_variance }
    }
}

/// Kernel argument with the layout of `Slab` in `cu/cc_tiled.cuh`: slices, and the memory of their terms.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Slab {
    first: i32,
    last: i32,
    counted_from: i32,
    first_block: u32,
    blocks: u32,
    stride: u64,
}
impl Argument for Slab {}

/// Memory of the terms of the exact derivative, and the slabs that use it in turn.
struct Terms {
    pointer: u64,
    /// Distance between the memories of two terms, in floats.
    stride: usize,
    slabs: Vec<TermSlab>,
}

impl Terms {
    /// Terms in the memory of a scratch field; `None` if it is too little for the slices of a window.
    fn lent(field: &mut Field, radius: usize) -> Option<Terms> {
        let [nx, ny, nz] = field.shape;
        let capacity = 3 * plane(field.shape) / (CcParameters::TERMS * nx * ny);
        let slabs = term_slabs(nz, radius, capacity)?;
        Some(Terms { pointer: field.write(), stride: capacity * nx * ny, slabs })
    }

    /// Terms of the whole volume in the memory of the workspace.
    fn own(device: &Arc<Device>, workspace: &mut CcWorkspace) -> Result<Terms, Error> {
        let (nz, stride) = (workspace.shape[2], workspace.shape.iter().product());
        let buffer = match &workspace.terms {
            Some(buffer) => buffer,
            None => workspace.terms.insert(Buffer::uninitialised(device, CcParameters::TERMS * stride)?),
        };
        let slabs = vec![TermSlab { terms: 0..nz, own: 0..nz }];
        Ok(Terms { pointer: buffer.pointer(), stride, slabs })
    }
}

/// Size of a scalar volume, bytes.
fn bytes(shape: [usize; 3]) -> u64 {
    4 * shape.iter().product::<usize>() as u64
}

/// Number of columns of a tile along x and along y, as in `cu/box_sums.cuh`. Each thread processes one column.
const TILE: [usize; 2] = [32, 8];

impl Cuda {
    pub(super) fn new_cc_workspace(&self, shape: [usize; 3]) -> Result<CcWorkspace, Error> {
        Ok(CcWorkspace { shape, terms: None, direct: None })
    }

    pub(super) fn cc_gradient_of(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &CcParameters,
        workspace: &mut CcWorkspace,
        out: MetricOutput<'_, Cuda>,
        scratch: Option<&mut Field>,
    ) -> Result<CcPending, Error> {
        let shape = images[0].shape;
        let read = images.into_iter().chain(masks.into_iter().flatten()).map(|image| image.shape);
        let written = scratch.iter().map(|field| field.shape);
        Error::check_shapes("cc_gradient", shape, read.chain(written).chain([workspace.shape]))?;
        let masked = masks.iter().any(Option::is_some);
        if parameters.radius > CcParameters::MOST_TILED_RADIUS
            && !masked
            && parameters.derivative == CcDerivative::Centre
        {
            let direct = match &mut workspace.direct {
                Some(direct) => direct,
                none => none.insert(self.direct_cc(shape)?),
            };
            return direct.gradient(self, images, parameters, out);
        }
        let out = Output::of("cc_gradient", shape, out)?;
        let pair = Pair::new(images, masks, parameters.noise_variance);
        match parameters.derivative {
            CcDerivative::Centre => self.cc_centre(pair, shape, masked, parameters.radius, out),
            CcDerivative::Exact => {
                let radius = parameters.radius;
                let lent = scratch.and_then(|field| Some((Terms::lent(field, radius)?, field)));
                let Some((terms, field)) = lent else {
                    let terms = Terms::own(&self.device, workspace)?;
                    return self.cc_exact(pair, shape, masked, radius, &terms, out);
                };
                let pending = self.cc_exact(pair, shape, masked, radius, &terms, out)?;
                field.clear_padding()?;
                Ok(pending)
            }
        }
    }

    /// The derivatives at each voxel are computed from the window centred at the voxel alone.
    fn cc_centre(
        &self,
        pair: Pair,
        shape: [usize; 3],
        masked: bool,
        radius: usize,
        out: Output,
    ) -> Result<CcPending, Error> {
        let which = if masked { CcKernel::CentreMasked } else { CcKernel::Centre };
        let kernel = self.kernels.cc_tiled(which, radius, &self.device)?;
        let (launch, depth) = self.tiles(kernel, shape, radius, (2 + out.numbers()) * bytes(shape))?;
        let mut pending = CcPending::new(&self.device)?;
        let mut scratch = self.scratch();
        scratch.reserve(&self.device, launch.blocks())?;
        let (partial, counter, result) = (scratch.partial.pointer(), scratch.counter.pointer(), pending.target());
        // SAFETY: all volumes have one shape, and the kernel reads and writes only voxels within it. `partial` has room
        // for three partial sums of each thread block.
        unsafe { self.launch(launch, arguments![pair, depth, out, partial, counter, result])? };
        pending.under_way()?;
        Ok(pending)
    }

    /// The derivatives at each voxel are computed from all windows that contain the voxel, slab by slab: first the terms
    /// of the windows, then their sums.
    fn cc_exact(
        &self,
        pair: Pair,
        shape: [usize; 3],
        masked: bool,
        radius: usize,
        terms: &Terms,
        out: Output,
    ) -> Result<CcPending, Error> {
        let kernel = |which| self.kernels.cc_tiled(which, radius, &self.device);
        let of_terms = kernel(if masked { CcKernel::TermsMasked } else { CcKernel::Terms })?;
        let sums = kernel(CcKernel::Exact)?;
        let [nx, ny, _] = shape;
        let launch = |kernel, slices: &Range<usize>, numbers| {
            let shape = [nx, ny, slices.len()];
            self.tiles(kernel, shape, radius, numbers * bytes(shape))
        };
        let first = terms.slabs.iter().map(|slab| launch(of_terms, &slab.terms, 2 + 5));
        let first = first.collect::<Result<Vec<_>, Error>>()?;
        let blocks: usize = first.iter().map(|(launch, _)| launch.blocks()).sum();
        let mut pending = CcPending::new(&self.device)?;
        let mut scratch = self.scratch();
        scratch.reserve(&self.device, blocks)?;
        let (partial, counter, result) = (scratch.partial.pointer(), scratch.counter.pointer(), pending.target());
        let (mut first_block, mut counted_from) = (0, 0);
        for (TermSlab { terms: slices, own }, (of_terms, depth)) in terms.slabs.iter().zip(first) {
            let of = |slices: &Range<usize>| Slab {
                first: slices.start as i32,
                last: slices.end as i32,
                counted_from,
                first_block,
                blocks: blocks as u32,
                stride: terms.stride as u64,
            };
            let (slab, ending) = (of(slices), of(own));
            // The memory begins with the first slice whose terms it holds.
            let memory = terms.pointer.wrapping_sub((4 * nx * ny * slices.start) as u64);
            first_block += of_terms.blocks() as u32;
            counted_from = slices.end as i32;
            // SAFETY: all volumes have one shape, and the kernel reads only voxels within it. The memory has room for
            // five terms of each voxel of these slices. `partial` has three numbers for each block of all slabs.
            unsafe { self.launch(of_terms, arguments![pair, slab, depth, memory, partial, counter, result])? };
            let (launch, depth) = launch(sums, own, 2 + 5 + out.numbers())?;
            // SAFETY: the windows of the voxels of these slices are within the slices of the terms, or end at the border
            // of the volume. The output has this shape.
            unsafe { self.launch(launch, arguments![pair, ending, depth, memory, out])? };
        }
        pending.under_way()?;
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
