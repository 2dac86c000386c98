//! Kernel launches: grid sizes, and arguments in the layout that the kernels declare.

use std::ffi::c_void;

use antsreg_core::AffineTransform;
use cust::sys;

use super::Cuda;
use super::driver::check_code;
use super::module::Kernel;
use super::planes::plane;
use crate::Error;

/// A launch of a kernel. `bytes` is, for the profile of kernel times, the least number of bytes that the kernel reads
/// and writes.
#[derive(Clone, Copy)]
pub(super) struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    pub(super) bytes: u64,
}

impl<'a> Launch<'a> {
    /// Number of threads of a block along each axis for kernels that call `voxel()` of `cu/volume.cuh`.
    const VOXEL_BLOCK: [u32; 3] = [32, 4, 2];

    /// Prepares a launch of `blocks` blocks of `threads` threads.
    pub(super) fn of_blocks(kernel: &'a Kernel, blocks: u32, threads: u32, bytes: u64) -> Launch<'a> {
        Launch { kernel, grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0, bytes }
    }

    /// Prepares a launch of one thread per element; the last block may have threads beyond the last element.
    pub(super) fn over_elements(kernel: &'a Kernel, count: usize, threads: u32, bytes: u64) -> Launch<'a> {
        Launch::of_blocks(kernel, count.div_ceil(threads as usize) as u32, threads, bytes)
    }

    /// Prepares a launch of a kernel with one thread for each voxel of a volume.
    pub(super) fn over_voxels(kernel: &'a Kernel, shape: [usize; 3], bytes: u64) -> Launch<'a> {
        Launch::over_blocks(kernel, shape, Launch::VOXEL_BLOCK, 1, bytes)
    }

    /// Prepares a launch for a volume, with `block` threads per block along each axis. Each thread processes `slices`
    /// voxels in consecutive slices.
    pub(super) fn over_blocks(
        kernel: &'a Kernel,
        shape: [usize; 3],
        block: [u32; 3],
        slices: i32,
        bytes: u64,
    ) -> Launch<'a> {
        let voxels = [block[0], block[1], block[2] * slices as u32];
        let grid = std::array::from_fn(|axis| shape[axis].div_ceil(voxels[axis] as usize) as u32);
        Launch { kernel, grid, block, shared: 0, bytes }
    }

    /// Changes this launch, which processes one field or image, to a launch that processes `sides` fields or images of
    /// the same shape, such as the displacement fields of the fixed and the moving image. Their thread blocks follow
    /// each other along z, as `side_of_block` of `cu/volume.cuh` expects.
    pub(super) fn for_sides(self, sides: usize) -> Launch<'a> {
        let [x, y, z] = self.grid;
        Launch { grid: [x, y, z * sides as u32], bytes: self.bytes * sides as u64, ..self }
    }

    pub(super) fn blocks(&self) -> usize {
        self.grid.iter().map(|n| *n as usize).product()
    }
}

/// Kernel argument with the layout of the structure `Shape` in `cu/volume.cuh`: number of voxels along each axis, and
/// derived numbers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    voxels: [i32; 3],
    last: [f32; 3],
    last_cell: [f32; 3],
    row: u32,
    slice: u32,
    step_y: u32,
    step_z: u32,
    origin: u32,
    plane: u64,
}

impl Shape {
    pub(super) fn of(shape: [usize; 3]) -> Shape {
        /// The bits of the float 2²³, to which kernels add a voxel's index.
        const BITS: u32 = 0x4B00_0000;
        let [row, slice] = [4 * shape[0] as u32, 4 * (shape[0] * shape[1]) as u32];
        Shape {
            voxels: shape.map(|n| n as i32),
            last: shape.map(|n| n.saturating_sub(1) as f32),
            last_cell: shape.map(|n| n.saturating_sub(2) as f32),
            row,
            slice,
            step_y: if shape[1] > 1 { row } else { 0 },
            step_z: if shape[2] > 1 { slice } else { 0 },
            origin: BITS.wrapping_mul(slice.wrapping_add(row).wrapping_add(4)),
            plane: plane(shape) as u64,
        }
    }
}

/// Kernel argument with the layout of the structure `Vector` in `cu/points.cuh`: three floats.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector(pub(super) [f32; 3]);

/// Kernel argument with the layout of the structure `Size` in `cu/points.cuh`: numbers of voxels along three axes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Size([i32; 3]);

impl Size {
    pub(super) fn of(shape: [usize; 3]) -> Size {
        Size(shape.map(|n| n as i32))
    }
}

/// Kernel argument with the layout of the structure `Affine` in `cu/volume.cuh`: a 3×4 matrix, row by row, in double
/// and in single precision.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Affine([f64; 12], [f32; 12]);

impl Affine {
    pub(super) fn of(map: &AffineTransform) -> Affine {
        let elements = elements(map);
        Affine(elements, elements.map(|element| element as f32))
    }
}

/// The 12 numbers of an affine map, row by row; the last number of each row is the translation.
pub(super) fn elements(map: &AffineTransform) -> [f64; 12] {
    std::array::from_fn(|element| match (element / 4, element % 4) {
        (row, 3) => map.translation[row],
        (row, column) => map.matrix[(row, column)],
    })
}

/// A value that is passed unchanged to a kernel: a number, an address, or a `#[repr(C)]` struct of these with the
/// layout of the kernel's parameter.
pub trait Argument {
    /// Address of the argument's value on the host. The driver copies the value when the kernel is launched.
    fn address(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}
impl Argument for i32 {}
impl Argument for u32 {}
impl Argument for u64 {}
impl Argument for f32 {}
impl Argument for f64 {}
impl Argument for Shape {}
impl Argument for Vector {}
impl Argument for Size {}
impl Argument for Affine {}
/// Two floats as a kernel argument, passed as one structure.
impl Argument for [f32; 2] {}
/// Two addresses in device memory, such as those of two fields, passed as the structure `Sides` of `cu/volume.cuh`.
impl Argument for [u64; 2] {}

/// Kernel argument with the layout of the structure `Sides` in `cu/volume.cuh`: the addresses of one or two fields or
/// images. A single address is repeated.
pub(super) fn sides<T, const N: usize>(operands: [T; N], address: impl FnMut(T) -> u64) -> [u64; 2] {
    let addresses = operands.map(address);
    [addresses[0], addresses[N - 1]]
}

/// Makes the list of a kernel's arguments, as the driver requires it: the addresses of local variables, in the order of
/// the kernel's parameters.
macro_rules! arguments {
    ($($argument:ident),+ $(,)?) => { &mut [$($crate::cuda::launch::Argument::address(&$argument)),+] };
}
pub(super) use arguments;

impl Cuda {
    /// Number of thread blocks for a kernel whose threads share the work on `elements` elements: at most as many blocks
    /// as fill the device.
    pub(super) fn blocks_for(&self, elements: usize, threads: u32) -> u32 {
        (elements.div_ceil(threads as usize) as u32).min(8 * self.device.info.multiprocessors)
    }

    /// Number of slices that each thread processes: one in small volumes, which have few threads, more in large
    /// volumes.
    pub(super) fn slices_of_threads(&self, voxels: usize, most: usize) -> i32 {
        /// Number of threads per multiprocessor above which each thread processes more than one slice.
        const ENOUGH: usize = 4096;
        let enough = ENOUGH * self.device.info.multiprocessors as usize;
        (voxels / enough).clamp(1, most) as i32
    }

    /// Number of slices that a block processes, if a volume of `slices` slices has `columns` columns of blocks. Every
    /// block also reads `margin` further slices. The number is chosen so that the last block ends as early as possible.
    pub(super) fn depth_of_blocks(
        &self,
        kernel: &Kernel,
        threads: u32,
        columns: usize,
        slices: usize,
        margin: usize,
    ) -> Result<usize, Error> {
        self.device.bind(kernel.name)?;
        let at_once = kernel.resident_blocks(threads)? * self.device.info.multiprocessors as usize;
        let depths = (1..=slices).map(|chunks| slices.div_ceil(chunks));
        let rounds = |depth: usize| (columns * slices.div_ceil(depth)).div_ceil(at_once) * (depth + margin);
        Ok(depths.min_by_key(|depth| rounds(*depth)).unwrap_or(1))
    }

    /// Queues a launch on the stream.
    ///
    /// # Safety
    /// The arguments have the number and types of the kernel's parameters, and the memory they point to covers what
    /// the kernel accesses under this grid.
    pub(super) unsafe fn launch(&self, launch: Launch<'_>, arguments: &mut [*mut c_void]) -> Result<(), Error> {
        let Launch { kernel, grid, block, shared, bytes } = launch;
        self.device.bind(kernel.name)?;
        let mut profile = self.device.profile();
        let timing = profile.before(kernel.name, bytes, self.device.stream())?;
        let (function, stream) = (kernel.function(), self.device.stream().as_inner());
        // SAFETY: the caller promises that the arguments fit the kernel and that their memory covers all accesses. The
        // kernel belongs to a module that exists as long as `self`, and waits if it may begin early.
        let code = unsafe {
            if kernel.may_begin_early {
                antsreg_cuda_driver::launch_early(function, grid, block, shared, stream, arguments)
            } else {
                let ([x, y, z], [threads_x, threads_y, threads_z]) = (grid, block);
                let (arguments, no_more) = (arguments.as_mut_ptr(), std::ptr::null_mut());
                sys::cuLaunchKernel(
                    function, x, y, z, threads_x, threads_y, threads_z, shared, stream, arguments, no_more,
                ) as u32
            }
        };
        check_code(kernel.name, code)?;
        profile.after(timing, self.device.stream())
    }
}
