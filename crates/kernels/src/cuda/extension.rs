//! Support for GPU kernels of other crates: loading their code, allocating memory, launching on the stream of a
//! [`Cuda`], and timing.
//!
//! A crate with its own kernels compiles them as `tools/ptx` does, embeds PTX and machine code in a [`Code`], and loads
//! it as a [`Module`]. A launch is `unsafe`, because only its caller knows what the kernel reads and writes. All other
//! functions of this module are safe.

use std::ffi::c_void;

use cust::event::{Event, EventFlags};
use cust::sys;

pub use super::buffer::{Buffer, Plain};
pub use super::launch::Argument;
pub use super::module::Kernel;

use super::Cuda;
use super::code::Code;
use super::driver::{check, driver_error};
use super::image::Image;
use super::launch::Launch;
use super::module::Loaded;
use crate::Error;

/// The kernels of one [`Code`], which are loaded together. They are unloaded when this value is dropped, after all work
/// of the device's stream.
pub struct Module {
    kernels: Vec<Kernel>,
    _loaded: Loaded,
}

impl Module {
    /// Loads the machine code if it is for this device's chip, otherwise the PTX, and looks up all kernels of the code.
    ///
    /// # Errors
    /// The driver refuses the code, or the code lacks a kernel of the list.
    pub fn load(cuda: &Cuda, code: &Code) -> Result<Module, Error> {
        let loaded = Loaded::new(code, &cuda.device)?;
        let kernels = code.kernels.iter().map(|name| loaded.kernel(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(Module { kernels, _loaded: loaded })
    }

    /// The kernel with this name; `None` if the module's list does not contain the name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// The grid of a kernel launch: number of blocks, threads of a block, and shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Number of thread blocks along each axis.
    pub blocks: [u32; 3],
    /// Number of threads of a block along each axis.
    pub threads: [u32; 3],
    /// Shared memory of a block in addition to the kernel's static shared memory, bytes.
    pub shared: u32,
}

/// Measures the time that the device needs between two points in the work of its stream.
pub struct Timer<'a> {
    cuda: &'a Cuda,
    start: Event,
    end: Event,
}

impl Timer<'_> {
    /// Marks the start of the timed work: after all work queued on the stream so far.
    pub fn start(&self) -> Result<(), Error> {
        self.start.record(self.cuda.device.stream()).map_err(timing_error)
    }

    /// Records the end of the timed work, waits until the work has finished, and returns its duration in seconds.
    pub fn stop(self) -> Result<f64, Error> {
        self.end.record(self.cuda.device.stream()).map_err(timing_error)?;
        self.cuda.synchronize()?;
        Ok(f64::from(self.end.elapsed_time_f32(&self.start).map_err(timing_error)?) / 1e3)
    }
}

fn timing_error(error: cust::error::CudaError) -> Error {
    driver_error("timer", error)
}

impl Cuda {
    /// Allocates a buffer of `len` elements in device memory, which are not initialised.
    pub fn uninitialised<T: Plain>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::uninitialised(&self.device, len)
    }

    /// Allocates a buffer of `len` elements in device memory, with all bits zero.
    pub fn zeroed<T: Plain>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::zeroed(&self.device, len)
    }

    /// Allocates a buffer in device memory and copies `values` into the buffer.
    pub fn holding<T: Plain>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        Buffer::from_slice(&self.device, values)
    }

    /// The address of an image's voxels on the device, x fastest. Valid as long as the image exists.
    pub fn voxels_of(&self, image: &Image) -> u64 {
        image.read()
    }

    /// A texture object of an image, interpolated trilinearly with weights of eight bits. Voxel i is at i + 0.5;
    /// outside, the border value continues. The texture is valid as long as the image exists, and shows the image's
    /// current values.
    pub fn filtered_texture(&self, image: &Image) -> Result<u64, Error> {
        Ok(image.texture(&self.device)?.filtered)
    }

    /// The most shared memory that a block can have on this device, bytes, after
    /// [`allow_shared`](Cuda::allow_shared).
    pub fn most_shared(&self) -> Result<usize, Error> {
        let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let mut bytes = 0;
        self.device.bind("shared memory")?;
        // SAFETY: `bytes` is valid for writing, and the device exists.
        let result = unsafe { sys::cuDeviceGetAttribute(&mut bytes, which, self.info().index as i32) };
        check("shared memory", result)?;
        Ok(bytes as usize)
    }

    /// Allows a kernel to use this many bytes of shared memory in addition to its static shared memory.
    ///
    /// # Errors
    /// [`Error::SharedMemory`] if this and the static shared memory together exceed what a block can have.
    pub fn allow_shared(&self, kernel: &Kernel, bytes: usize) -> Result<(), Error> {
        use sys::CUfunction_attribute::{
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        };
        /// Shared memory that a block can have without a request to the driver, bytes.
        const USUAL: usize = 48 << 10;
        let (mut own, most) = (0, self.most_shared()?);
        // SAFETY: `own` is a local variable, to which the driver writes. The kernel belongs to a loaded module.
        let result =
            unsafe { sys::cuFuncGetAttribute(&mut own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.function()) };
        check(kernel.name, result)?;
        let needed = bytes + own as usize;
        if needed > most {
            return Err(Error::SharedMemory { operation: kernel.name, needed, most });
        }
        if needed <= USUAL {
            return Ok(());
        }
        let (which, most) = (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most as i32 - own);
        // SAFETY: the kernel belongs to a loaded module.
        check(kernel.name, unsafe { sys::cuFuncSetAttribute(kernel.function(), which, most) })
    }

    /// Number of blocks of this many threads and bytes of shared memory that the whole device holds at once, at least
    /// one per multiprocessor.
    pub fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared: usize) -> Result<usize, Error> {
        self.device.bind(kernel.name)?;
        Ok(kernel.resident_with_shared(threads, shared)? * self.info().multiprocessors as usize)
    }

    /// Makes a timer.
    pub fn timer(&self) -> Result<Timer<'_>, Error> {
        self.device.bind("timer")?;
        let event = || Event::new(EventFlags::DEFAULT).map_err(timing_error);
        Ok(Timer { cuda: self, start: event()?, end: event()? })
    }

    /// Queues a launch on the stream, after all earlier work, and does not wait for it.
    ///
    /// # Safety
    /// - The kernel's module was loaded on this device.
    /// - The arguments have the number, order and layout of the kernel's parameters.
    /// - Addresses among them point to memory that covers everything the kernel accesses under this grid. Until the
    ///   launch is done, this memory is not freed, and where the kernel writes, not borrowed. Buffers of this device
    ///   may be dropped before the launch is done, because their memory is freed in stream order.
    pub unsafe fn launch_kernel(
        &self,
        kernel: &Kernel,
        grid: Grid,
        arguments: &[&dyn Argument],
    ) -> Result<(), Error> {
        let Grid { blocks, threads, shared } = grid;
        let launch = Launch { kernel, grid: blocks, block: threads, shared, bytes: 0 };
        let mut addresses: Vec<*mut c_void> = arguments.iter().map(|argument| argument.address()).collect();
        // SAFETY: the caller promises that the arguments fit the kernel and that their memory covers all accesses.
        unsafe { self.launch(launch, &mut addresses) }
    }
}
