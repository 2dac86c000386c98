//! Windowed cross-correlation of two images and its gradient, computed on tiles that slide along z.

use std::ops::Range;
use std::sync::Arc;

use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::kernels::CcKernel;
use crate::cuda::launch::{Argument, arguments};
use crate::cuda::metric_output::Output;
use crate::cuda::planes::plane;
use crate::cuda::similarity::cc_direct::DirectCc;
use crate::cuda::similarity::images::{CcPending, ComparedImages, tiles};
use crate::term_slabs::{TermSlab, term_slabs};
use crate::{CcDerivative, CcParameters, Error, MetricOutput};

/// GPU buffers of [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient). They are allocated when first needed. A
/// scratch field of the caller may replace them.
pub struct CcWorkspace {
    shape: [usize; 3],
    /// The five terms of the exact derivative of the cross-correlation for the window of each voxel, one term after the
    /// other.
    terms: Option<Buffer<f32>>,
    /// Textures and surfaces for the direct kernels (`cc_direct.rs`).
    direct: Option<DirectCc>,
}

impl CcWorkspace {
    pub(in crate::cuda) fn new(shape: [usize; 3]) -> CcWorkspace {
        CcWorkspace { shape, terms: None, direct: None }
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

pub(in crate::cuda) fn cc_gradient(
    cuda: &Cuda,
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
    if parameters.by_textures(masked) {
        let direct = match &mut workspace.direct {
            Some(direct) => direct,
            none => none.insert(cuda.direct_cc(shape)?),
        };
        return direct.gradient(cuda, images, masks, parameters, out);
    }
    let out = Output::of("cc_gradient", shape, out)?;
    let pair = ComparedImages::new(images, masks, parameters.noise_variance);
    match parameters.derivative {
        CcDerivative::Centre => cuda.cc_centre(pair, shape, masked, parameters.radius, out),
        CcDerivative::Exact => {
            let radius = parameters.radius;
            let lent = scratch.and_then(|field| Some((Terms::lent(field, radius)?, field)));
            let Some((terms, field)) = lent else {
                let terms = Terms::own(&cuda.device, workspace)?;
                return cuda.cc_exact(pair, shape, masked, radius, &terms, out);
            };
            let pending = cuda.cc_exact(pair, shape, masked, radius, &terms, out)?;
            field.clear_padding()?;
            Ok(pending)
        }
    }
}

impl Cuda {
    /// The derivatives at each voxel are computed from the window centred at the voxel alone.
    fn cc_centre(
        &self,
        pair: ComparedImages,
        shape: [usize; 3],
        masked: bool,
        radius: usize,
        out: Output,
    ) -> Result<CcPending, Error> {
        let which = if masked { CcKernel::CentreMasked } else { CcKernel::Centre };
        let kernel = self.kernels.cc_tiled(which, radius, &self.device)?;
        let (launch, depth) = tiles(self, kernel, shape, radius, (2 + out.numbers()) * bytes(shape))?;
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
        pair: ComparedImages,
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
            tiles(self, kernel, shape, radius, numbers * bytes(shape))
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
}
