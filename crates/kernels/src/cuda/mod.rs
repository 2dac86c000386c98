//! The CUDA backend: every operation of [`Backend`](crate::Backend) as kernels on an NVIDIA GPU. `backend.rs` names
//! the function of each operation, `kernels.rs` the kernels of each source file in `cu/`.
//!
//! Kernels take raw pointers, so this module has `unsafe`. Each launch is inside a function that takes typed operands,
//! and a comment says why the kernel accesses only memory of these operands. All work goes to one stream, in the order
//! of the calls.
#![expect(unsafe_code, reason = "kernel launches and driver calls take raw pointers")]

mod arrays;
mod backend;
mod bias;
mod bins;
mod buffer;
mod code;
mod contrast;
mod correlation_ratio;
mod cross_correlation;
mod deflate;
mod device;
mod direct;
mod distance;
pub mod extension;
mod field;
mod fit_sums;
mod fusion;
mod gradient_magnitude;
mod image;
mod intensity;
mod inversion;
mod joint_histogram;
mod kernels;
mod launch;
mod lent;
mod loading;
mod mark;
mod mattes;
mod mix;
mod module;
mod moments;
mod pending;
mod profile;
mod quick_start;
mod ratio_bricks;
mod relax;
mod resample;
mod sampled;
mod samples;
mod scores;
mod sinc;
mod smooth;
mod spline;
mod staging;
mod update;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use bias::BiasMesh;
pub use bins::FixedBins;
pub use code::{Code, Embedded};
pub use cross_correlation::{CcPending, CcWorkspace};
pub use device::{DeviceInfo, KeptContext, Memory, has_driver};
pub use direct::DirectCc;
pub use field::Field;
pub use image::Image;
pub use kernels::all_code;
pub use mattes::MiWorkspace;
pub use profile::KernelTime;
pub use quick_start::quick_start;
pub use relax::Relaxation;

use crate::Error;
use buffer::Buffer;
use device::Device;
use kernels::Kernels;
use loading::Loading;

/// The CUDA backend: one device with its stream, its kernels and their small buffers.
pub struct Cuda {
    kernels: Arc<Kernels>,
    /// Joined when this value is dropped.
    _loading: Loading,
    scratch: Mutex<Scratch>,
    /// Whether the correlation ratio interpolates the moving image by the texture unit's filter.
    filtered: AtomicBool,
    device: Arc<Device>,
}

/// Device memory for partial sums and results of kernels. Only one operation at a time uses it.
struct Scratch {
    /// Memory for partial sums of thread blocks: up to three numbers for each block of the largest launch so far.
    partial: Buffer<f64>,
    /// Number of thread blocks of the current launch that have finished. Each kernel sets the counter back to zero at
    /// its end.
    counter: Buffer<u32>,
    /// Results that kernels have computed and that the host will read next.
    result: Buffer<f64>,
    /// Each displacement field is composed with its scaled update. These are the scale factors; they stay in device
    /// memory.
    scales: Buffer<f32>,
    /// Buffers of the correlation ratio for batches of transforms.
    batch: correlation_ratio::BatchBuffers,
    /// Buffers of joint histograms for batches of transforms.
    joint: joint_histogram::JointBuffers,
    /// Buffers of the moments for batches of transforms.
    moments: moments::MomentBuffers,
    /// Buffers of the contrast across a surface for batches of transforms.
    contrast: contrast::ContrastBuffers,
    /// Buffers of the sums for least-squares fits of volumes by functions.
    fit: fit_sums::FitBuffers,
}

impl Cuda {
    /// The largest radius of the tiled cross-correlation. For larger radii there are no masks, and only
    /// derivatives computed from the window centred at each voxel ([`CcDerivative::Centre`](crate::CcDerivative::Centre)).
    pub const MOST_CC_RADIUS: usize = crate::CcParameters::MOST_TILED_RADIUS;

    /// Lists all CUDA devices of this machine.
    ///
    /// # Errors
    /// There is no CUDA driver, or it fails.
    pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
        device::list()
    }

    /// Opens the device with this index: creates its context and stream, and loads its kernels.
    pub fn open(index: usize) -> Result<Cuda, Error> {
        Cuda::load(Device::open(index)?)
    }

    /// Opens a device like [`Cuda::open`], but the driver compiles all kernels from PTX, as on chips for which no
    /// machine code is shipped.
    pub fn open_compiling(index: usize) -> Result<Cuda, Error> {
        let mut device = Device::open(index)?;
        device.takes_machine_code = false;
        Cuda::load(device)
    }

    fn load(device: Device) -> Result<Cuda, Error> {
        let device = Arc::new(device);
        let kernels = Arc::new(Kernels::load(&device)?);
        let loading = Loading::begin(&device, &kernels);
        Cuda::with(device, kernels, loading)
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
        profile::copy_bandwidth(&self.device)
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

    fn scratch(&self) -> MutexGuard<'_, Scratch> {
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
    fn reserve(&mut self, device: &Arc<Device>, blocks: usize) -> Result<(), Error> {
        if self.partial.len() < 3 * blocks {
            self.partial = Buffer::zeroed(device, 3 * blocks.next_power_of_two())?;
        }
        Ok(())
    }
}
