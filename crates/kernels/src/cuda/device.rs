//! One CUDA device: its context, stream and memory, and the errors of the driver.

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::stream::{Stream, StreamFlags};
use cust::sys;

use super::code::MACHINE;
use super::driver::{check, driver_error};
use super::profile::Profile;
use super::spare_sums::SpareSums;
use super::staging::{Ends, Staging};
use crate::Error;

/// A CUDA device of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Number of the device, as for [`Cuda::open`](super::Cuda::open).
    pub index: usize,
    /// Name of the device, given by the vendor.
    pub name: String,
    /// Compute capability of the device; 7.0 is Volta.
    pub capability: (u32, u32),
    /// Size of the device's memory, bytes.
    pub memory: u64,
    /// Number of multiprocessors of the device.
    pub multiprocessors: u32,
    /// Whether only one process at a time may use the device, by its compute mode.
    pub exclusive: bool,
    /// The newest CUDA version that the driver supports, such as 12.4.
    pub driver: (u32, u32),
}

/// State of a device's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Free memory.
    pub free: u64,
    /// Device memory that this process has freed but keeps for its next allocations, bytes. It is not part of the
    /// number `free`.
    pub kept: u64,
    /// Total memory.
    pub total: u64,
}

/// The oldest compute capability for which the kernels are compiled.
const OLDEST: (u32, u32) = (7, 0);

/// Context and stream of a device. Buffers, kernels and textures hold a reference to this value, so it is dropped last.
pub(super) struct Device {
    pub(super) info: DeviceInfo,
    /// Whether kernels are loaded as machine code, which exists for some chips, instead of being compiled by the
    /// driver.
    pub(super) takes_machine_code: bool,
    profile: Mutex<Profile>,
    staging: Staging,
    sums: SpareSums,
    stream: Stream,
    /// Whether memory is allocated from the driver's pool, in stream order. If not, each allocation waits for all work
    /// of the device.
    pooled: bool,
    context: Context,
}

/// Whether this machine has a driver for NVIDIA GPUs, judged by its device files. The driver is not started.
pub fn has_driver() -> bool {
    // The second file is that of Windows' subsystem for Linux.
    ["/dev/nvidiactl", "/dev/dxg"].into_iter().any(|file| std::path::Path::new(file).exists())
}

/// Saves the calling thread's CUDA context and restores it on drop. It is needed on threads of a program that uses the
/// driver itself and expects its own device to stay current.
pub struct KeptContext(Option<sys::CUcontext>);

impl KeptContext {
    /// Saves the calling thread's current context, if there is a driver.
    pub fn new() -> KeptContext {
        let mut context = std::ptr::null_mut();
        let there = antsreg_cuda_driver::load().is_ok();
        // SAFETY: `context` is valid for writing. If the driver has not been started, the call fails and changes
        // nothing.
        let found = there && unsafe { sys::cuCtxGetCurrent(&mut context) } == sys::CUresult::CUDA_SUCCESS;
        KeptContext(found.then_some(context))
    }
}

impl Default for KeptContext {
    fn default() -> KeptContext {
        KeptContext::new()
    }
}

impl Drop for KeptContext {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            // SAFETY: the context was current on this thread, or is null, which means none. The driver refuses a
            // destroyed context.
            let _ = unsafe { sys::cuCtxSetCurrent(context) };
        }
    }
}

/// Starts the CUDA driver and counts the devices.
fn count() -> Result<usize, Error> {
    antsreg_cuda_driver::load().map_err(|reason| Error::NoDriver { reason })?;
    // The driver is called directly, because cust loses error codes that it does not know, such as 803 (driver and
    // kernel module do not match). SAFETY: the function has no pointer argument.
    match unsafe { sys::cuInit(0) } {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(Error::NoDevice { index: 0, count: 0 }),
        result => check("cuInit", result)?,
    }
    Ok(CudaDevice::num_devices().map_err(|error| driver_error("cuDeviceGetCount", error))? as usize)
}

fn describe(index: usize) -> Result<DeviceInfo, Error> {
    let wrap = |error| driver_error("device description", error);
    let device = CudaDevice::get_device(index as u32).map_err(wrap)?;
    let attribute = |which| device.get_attribute(which).map(|value| value as u32).map_err(wrap);
    let driver = cust::CudaApiVersion::get().map_err(wrap)?;
    Ok(DeviceInfo {
        index,
        name: device.name().map_err(wrap)?,
        capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        memory: device.total_memory().map_err(wrap)? as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        exclusive: attribute(DeviceAttribute::ComputeMode)? != 0,
        driver: (driver.major() as u32, driver.minor() as u32),
    })
}

pub(super) fn list() -> Result<Vec<DeviceInfo>, Error> {
    (0..count()?).map(describe).collect()
}

impl Device {
    pub(super) fn open(index: usize) -> Result<Device, Error> {
        let count = count()?;
        if index >= count {
            return Err(Error::NoDevice { index, count });
        }
        let info = describe(index)?;
        if info.capability < OLDEST {
            return Err(Error::TooOld { name: info.name, capability: info.capability, oldest: OLDEST });
        }
        let device = CudaDevice::get_device(index as u32).map_err(|error| driver_error("cuDeviceGet", error))?;
        let context = Context::new(device).map_err(|error| driver_error("context", error))?;
        CurrentContext::set_current(&context).map_err(|error| driver_error("context", error))?;
        // The stream has no flag NON_BLOCKING, because cust drops that flag.
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(|error| driver_error("stream", error))?;
        let pooled = keep_freed_memory(device.as_raw());
        let sums = SpareSums::default();
        let takes_machine_code = info.capability == MACHINE;
        Ok(Device {
            info,
            takes_machine_code,
            profile: Mutex::default(),
            staging: Staging::new(&sums)?,
            sums,
            stream,
            pooled,
            context,
        })
    }

    /// Makes this device's context current on the calling thread.
    pub(super) fn bind(&self, operation: &'static str) -> Result<(), Error> {
        CurrentContext::set_current(&self.context).map_err(|error| driver_error(operation, error))
    }

    /// The stream to which all work on this device is given.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Copies device memory to `to` through page-locked memory, after all earlier work of the stream.
    ///
    /// # Safety
    /// `from` is device memory of at least as many bytes as `to`.
    pub(super) unsafe fn fetch(&self, from: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), Error> {
        // SAFETY: the caller promises that the device memory is large enough.
        unsafe { self.staging.fetch(self.ends(), from, to) }
    }

    /// Copies `from` to device memory through page-locked memory, after all earlier work of the stream. `from` may be
    /// changed as soon as this returns.
    ///
    /// # Safety
    /// `to` is device memory of at least as many bytes as `from`.
    pub(super) unsafe fn send(&self, from: &[u8], to: u64) -> Result<(), Error> {
        // SAFETY: the caller promises that the device memory is large enough.
        unsafe { self.staging.send(self.ends(), from, to) }
    }

    fn ends(&self) -> Ends<'_> {
        Ends { context: &self.context, stream: &self.stream }
    }

    pub(super) fn sums(&self) -> &SpareSums {
        &self.sums
    }

    pub(super) fn profile(&self) -> MutexGuard<'_, Profile> {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn synchronize(&self, operation: &'static str) -> Result<(), Error> {
        self.bind(operation)?;
        self.stream().synchronize().map_err(|error| driver_error(operation, error))
    }

    pub(super) fn memory(&self) -> Result<Memory, Error> {
        self.bind("memory")?;
        let (free, total) = cust::memory::mem_get_info().map_err(|error| driver_error("memory", error))?;
        Ok(Memory { free: free as u64, kept: self.kept(), total: total as u64 })
    }

    /// The default memory pool of the device; `None` if memory is allocated without a pool.
    fn pool(&self) -> Option<sys::CUmemoryPool> {
        let device = CudaDevice::get_device(self.info.index as u32).ok().filter(|_| self.pooled)?;
        let mut pool = std::ptr::null_mut();
        // SAFETY: `pool` is valid for writing, and the device exists.
        let found = unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, device.as_raw()) };
        (found == sys::CUresult::CUDA_SUCCESS).then_some(pool)
    }

    /// Bytes that the device's memory pool has reserved and that are not in use; 0 if the driver does not report this.
    fn kept(&self) -> u64 {
        use sys::CUmemPool_attribute::{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT};
        let Some(pool) = self.pool() else { return 0 };
        let bytes = |attribute| {
            let mut bytes = 0u64;
            // SAFETY: the value of these attributes of a memory pool is a number of 64 bits, and `bytes` is valid for
            // writing.
            let result = unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut bytes).cast()) };
            (result == sys::CUresult::CUDA_SUCCESS).then_some(bytes)
        };
        let [reserved, used] = [CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT].map(bytes);
        reserved.zip(used).map_or(0, |(reserved, used)| reserved.saturating_sub(used))
    }

    /// Gives the unused memory of the device's memory pool back to the system.
    pub(super) fn release_kept_memory(&self) -> Result<(), Error> {
        self.synchronize("release memory")?;
        match self.pool() {
            // SAFETY: this is the default pool of the device, which always exists.
            Some(pool) => check("release memory", unsafe { sys::cuMemPoolTrimTo(pool, 0) }),
            None => Ok(()),
        }
    }

    /// Allocates device memory, which is not initialised. Returns its address.
    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.bind("allocate")?;
        let mut pointer = 0;
        // SAFETY: `pointer` is valid for writing, and the stream exists.
        let result = unsafe {
            match self.pooled {
                true => sys::cuMemAllocAsync(&mut pointer, bytes, self.stream().as_inner()),
                false => sys::cuMemAlloc_v2(&mut pointer, bytes),
            }
        };
        if result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(Error::OutOfMemory { requested: bytes as u64, free: self.memory()?.free });
        }
        check("allocate", result)?;
        Ok(pointer)
    }

    /// Frees memory. This may be called on any thread, which keeps its current context. An error here can only come
    /// from an earlier launch, whose caller receives it.
    ///
    /// # Safety
    /// [`allocate`](Device::allocate) returned `pointer`, and later calls do not use it.
    pub(super) unsafe fn free(&self, pointer: u64) {
        let _kept = KeptContext::new();
        if self.bind("free").is_ok() {
            // SAFETY: the caller promises that `pointer` came from `allocate` and is not used later. Work that uses the
            // memory was given to the same stream before.
            let _ = unsafe {
                match self.pooled {
                    true => sys::cuMemFreeAsync(pointer, self.stream().as_inner()),
                    false => sys::cuMemFree_v2(pointer),
                }
            };
        }
    }
}

/// Lets the device's memory pool keep freed memory for the next allocations. False if there is no pool.
fn keep_freed_memory(device: sys::CUdevice) -> bool {
    let (mut supported, mut pool) = (0, std::ptr::null_mut());
    let mut everything = u64::MAX;
    // SAFETY: all pointers refer to local variables, which exist during the calls.
    unsafe {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        sys::cuDeviceGetAttribute(&mut supported, attribute, device) == sys::CUresult::CUDA_SUCCESS
            && supported != 0
            && sys::cuDeviceGetDefaultMemPool(&mut pool, device) == sys::CUresult::CUDA_SUCCESS
            && sys::cuMemPoolSetAttribute(
                pool,
                sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                (&raw mut everything).cast(),
            ) == sys::CUresult::CUDA_SUCCESS
    }
}
