//! Launching a kernel: grid sizes, and arguments as the kernels declare them.

use std::ffi::c_void;

use antsreg_core::AffineTransform;
use cust::sys;

use super::Cuda;
use super::device::check;
use super::kernels::Kernel;
use crate::Error;

/// A kernel's launch. `bytes` is what it must read and write at least once, for the profile.
#[derive(Clone, Copy)]
pub(super) struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    pub(super) bytes: u64,
}

/// Blocks that cover a volume, a thread a voxel, as `voxel()` of `cu/volume.cuh` counts them.
pub(super) fn grid_of_voxels(shape: [usize; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| shape[axis].div_ceil(Launch::VOXEL_BLOCK[axis] as usize) as u32)
}

impl<'a> Launch<'a> {
    /// The block of `voxel()` in `cu/volume.cuh`.
    pub(super) const VOXEL_BLOCK: [u32; 3] = [32, 4, 2];

    /// A thread a voxel.
    pub(super) fn over_voxels(kernel: &'a Kernel, shape: [usize; 3], bytes: u64) -> Launch<'a> {
        Launch { kernel, grid: grid_of_voxels(shape), block: Launch::VOXEL_BLOCK, shared: 0, bytes }
    }

    pub(super) fn blocks(&self) -> usize {
        self.grid.iter().map(|n| *n as usize).product()
    }
}

/// `Shape` of `cu/volume.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape([i32; 3]);

impl Shape {
    pub(super) fn of(shape: [usize; 3]) -> Shape {
        Shape(shape.map(|n| n as i32))
    }
}

/// `Vector` of `cu/volume.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector(pub(super) [f32; 3]);

/// `Affine` of `cu/volume.cuh`: row-major 3×4.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Affine([f64; 12]);

impl Affine {
    pub(super) fn of(map: &AffineTransform) -> Affine {
        Affine(std::array::from_fn(|element| match (element / 4, element % 4) {
            (row, 3) => map.translation[row],
            (row, column) => map.matrix[(row, column)],
        }))
    }
}

/// Types that kernels take as they are: numbers, addresses, `#[repr(C)]` structs of them.
pub(super) trait Argument: Copy {}
impl Argument for i32 {}
impl Argument for u32 {}
impl Argument for u64 {}
impl Argument for f32 {}
impl Argument for f64 {}
impl Argument for Shape {}
impl Argument for Vector {}
impl Argument for Affine {}
/// As a struct of two floats.
impl Argument for [f32; 2] {}

/// The address of an argument.
pub(super) fn address<T: Argument>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

/// The addresses of local variables, in the order of the kernel's parameters.
macro_rules! arguments {
    ($($argument:ident),+ $(,)?) => { &mut [$($crate::cuda::launch::address(&$argument)),+] };
}
pub(super) use arguments;

impl Cuda {
    /// Slices a block takes of a column of `slices` when `columns` of them are cut alike and every block works through
    /// `margin` slices more than it has: as many as make the last block finish soonest.
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

    /// Gives a launch to the stream.
    ///
    /// # Safety
    /// The arguments have the number and types of the kernel's parameters, and the memory they point to covers what the
    /// kernel touches under this grid.
    pub(super) unsafe fn launch(&self, launch: Launch<'_>, arguments: &mut [*mut c_void]) -> Result<(), Error> {
        let Launch { kernel, grid, block, shared, bytes } = launch;
        self.device.bind(kernel.name)?;
        let mut profile = self.device.profile();
        let timing = profile.before(kernel.name, bytes, self.device.stream())?;
        // SAFETY: the caller's promise; the function belongs to a module that lives as long as self.
        let result = unsafe {
            sys::cuLaunchKernel(
                kernel.function(),
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                self.device.stream().as_inner(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check(kernel.name, result)?;
        profile.after(timing, self.device.stream())
    }
}
