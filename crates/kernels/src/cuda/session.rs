//! The CUDA backend: one device with its stream, kernels and scratch memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bandwidth;
use super::batch_buffers::{BatchBuffers, ContrastBuffers, FitBuffers, JointBuffers, MomentBuffers};
use super::buffer::Buffer;
use super::device::{self, Device, DeviceInfo, Memory};
use super::kernels::{Kernels, Preload};
use super::loading::Loading;
use super::profile::KernelTime;
use crate::Error;

/// The CUDA backend: one device with its stream, its kernels and their small buffers.
pub struct Cuda {
    pub(super) kernels: Arc<Kernels>,
    /// Joined when this value is dropped.
    _loading: Loading,
    scratch: Mutex<Scratch>,
    /// Whether the correlation ratio interpolates the moving image by the texture unit's filter.
    pub(super) filtered: AtomicBool,
    pub(super) device: Arc<Device>,
}

/// Device memory for partial sums and results of kernels. Only one operation at a time uses it.
pub(super) struct Scratch {
    /// Memory for partial sums of thread blocks: up to three numbers for each block of the largest launch so far.
    pub(super) partial: Buffer<f64>,
    /// Number of thread blocks of the current launch that have finished. Each kernel sets the counter back to zero at
    /// its end.
    pub(super) counter: Buffer<u32>,
    /// Results that kernels have computed and that the host will read next.
    pub(super) result: Buffer<f64>,
    /// Each displacement field is composed with its scaled update. These are the scale factors; they stay in device
    /// memory.
    pub(super) scales: Buffer<f32>,
    /// Buffers of the correlation ratio for batches of transforms.
    pub(super) batch: BatchBuffers,
    /// Buffers of joint histograms for batches of transforms.
    pub(super) joint: JointBuffers,
    /// Buffers of the moments for batches of transforms.
    pub(super) moments: MomentBuffers,
    /// Buffers of the contrast across a surface for batches of transforms.
    pub(super) contrast: ContrastBuffers,
    /// Buffers of the sums for least-squares fits of volumes by functions.
    pub(super) fit: FitBuffers,
}

impl Cuda {
    /// The largest radius of the tiled cross-correlation with masks or the exact derivative. Every other window is computed
    /// with textures and surfaces ([`CcKernels::Textures`](crate::CcKernels::Textures)).
    pub const MOST_CC_RADIUS: usize = crate::CcParameters::MOST_TILED_RADIUS;

    /// Lists all CUDA devices of this machine.
    ///
    /// # Errors
    /// There is no CUDA driver, or it fails.
    pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
        device::list()
    }

    /// Opens the device with this index: creates its context and stream. Kernels are loaded when first used.
    pub fn open(index: usize) -> Result<Cuda, Error> {
        Cuda::open_with(index, Preload::default())
    }

    /// Opens a device like [`Cuda::open`], and loads kernels before they are needed.
    pub fn open_with(index: usize, preload: Preload) -> Result<Cuda, Error> {
        let device = Arc::new(Device::open(index)?);
        let kernels = Arc::new(Kernels::default());
        kernels.load_all(preload.at_once, &device)?;
        let loading = Loading::begin(&device, &kernels, preload.ahead);
        Cuda::with(device, kernels, loading)
    }

    /// Opens a device like [`Cuda::open`], but the driver compiles all kernels from PTX, as on chips for which no
    /// machine code is shipped.
    pub fn open_compiling(index: usize) -> Result<Cuda, Error> {
        let mut device = Device::open(index)?;
        device.takes_machine_code = false;
        Cuda::with(Arc::new(device), Arc::default(), Loading::nothing())
    }

    /// Opens the same device for another worker, which shares the loaded kernels and has a separate stream.
    pub fn beside(&self) -> Result<Cuda, Error> {
        Cuda::with(Arc::new(Device::open(self.info().index)?), self.kernels.clone(), Loading::nothing())
    }

    fn with(device: Arc<Device>, kernels: Arc<Kernels>, loading: Loading) -> Result<Cuda, Error> {
        let scratch = Mutex::new(Scratch::new(&device)?);
        Ok(Cuda { kernels, _loading: loading, scratch, filtered: AtomicBool::new(false), device })
    }

    /// The name and properties of the open device.
    pub fn info(&self) -> &DeviceInfo {
        &self.device.info
    }

    /// Free and total memory of the device at this moment.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.device.memory()
    }

    /// Sets whether the correlation ratio interpolates the moving image in the texture unit, whose weights have eight
    /// bits (1/256 voxel). With the default, `false`, it reads eight voxels and interpolates in single precision.
    pub fn filter_by_texture(&self, filtered: bool) {
        self.filtered.store(filtered, Ordering::Relaxed);
    }

    /// Memory bandwidth of the device, measured by a copy within device memory: bytes read plus bytes written, per
    /// second. This is the upper limit for kernels that move data.
    pub fn copy_bandwidth(&self) -> Result<f64, Error> {
        bandwidth::copy_bandwidth(&self.device)
    }

    /// Waits until all work of the device is done. Returns the error of an earlier launch, if that error was not
    /// returned before.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.synchronize("synchronize")
    }

    /// Starts timing every kernel launch. Times of earlier launches are dropped.
    pub fn start_profile(&self) {
        self.device.profile().start();
    }

    /// Stops timing. Returns the number of launches, the time and the bytes of each kernel since
    /// [`start_profile`](Cuda::start_profile).
    pub fn finish_profile(&self) -> Result<Vec<KernelTime>, Error> {
        self.device.bind("profile")?;
        self.device.synchronize("profile")?;
        self.device.profile().finish()
    }

    pub(super) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scratch {
    fn new(device: &Arc<Device>) -> Result<Scratch, Error> {
        Ok(Scratch {
            partial: Buffer::zeroed(device, 3 << 10)?,
            counter: Buffer::zeroed(device, 1)?,
            result: Buffer::zeroed(device, 7)?,
            scales: Buffer::zeroed(device, 2)?,
            batch: Default::default(),
            joint: Default::default(),
            moments: Default::default(),
            contrast: Default::default(),
            fit: Default::default(),
        })
    }

    /// Kernels write three partial sums for each thread block. Ensures that there is memory for the sums of `blocks`
    /// thread blocks.
    pub(super) fn reserve(&mut self, device: &Arc<Device>, blocks: usize) -> Result<(), Error> {
        if self.partial.len() < 3 * blocks {
            self.partial = Buffer::zeroed(device, 3 * blocks.next_power_of_two())?;
        }
        Ok(())
    }
}
