//! An NVIDIA GPU: every operation of [`Backend`](crate::Backend) as kernels. `backend.rs` names the function of each
//! operation, `kernels.rs` the kernels of each source file in `cu/`.
//!
//! The one place with `unsafe`: kernels take raw pointers. Each launch stands in a function that takes typed operands and
//! says which bound makes it sound. All work goes to one stream, in the order of the calls.
#![expect(unsafe_code, reason = "kernel launches and driver calls take raw pointers")]

mod arrays;
mod backend;
mod bins;
mod buffer;
mod code;
mod correlation_ratio;
mod cross_correlation;
mod device;
mod direct;
pub mod extension;
mod field;
mod gradient_magnitude;
mod image;
mod intensity;
mod inversion;
mod joint_histogram;
mod kernels;
mod launch;
mod mark;
mod mattes;
mod mix;
mod module;
mod moments;
mod pending;
mod profile;
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

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use bins::FixedBins;
pub use code::{Code, Ptx};
pub use cross_correlation::{CcPending, CcWorkspace};
pub use device::{DeviceInfo, KeptContext, Memory, VISIBLE_DEVICES, first_visible};
pub use direct::DirectCc;
pub use field::Field;
pub use image::Image;
pub use kernels::all_code;
pub use mattes::MiWorkspace;
pub use profile::KernelTime;
pub use relax::Relaxation;

use crate::Error;
use buffer::Buffer;
use device::Device;
use kernels::Kernels;

/// The GPU backend: one device, its stream, its kernels and their small buffers.
pub struct Cuda {
    kernels: Arc<Kernels>,
    scratch: Mutex<Scratch>,
    /// Whether the correlation ratio samples through the texture unit's filter.
    filtered: AtomicBool,
    device: Arc<Device>,
}

/// Where reductions leave their parts and results. One operation at a time uses it.
struct Scratch {
    /// Up to three numbers per block, as large as any launch needed so far.
    partial: Buffer<f64>,
    /// Counts finished blocks; every kernel leaves it at zero.
    counter: Buffer<u32>,
    /// What comes back to the host.
    result: Buffer<f64>,
    /// What updates are multiplied by; they stay on the device.
    scales: Buffer<f32>,
    /// Of the correlation ratio.
    batch: correlation_ratio::BatchBuffers,
    /// Of joint histograms.
    joint: joint_histogram::JointBuffers,
    /// Of moments.
    moments: moments::MomentBuffers,
}

impl Cuda {
    /// The largest window of the tiled cross-correlation. Wider ones are for the centre's term without masks only.
    pub const MOST_CC_RADIUS: usize = crate::CcParameters::MOST_TILED_RADIUS;

    /// Every device of this machine, or why there is none.
    pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
        device::list()
    }

    /// Prepares the device of this index: context, stream, kernels.
    pub fn open(index: usize) -> Result<Cuda, Error> {
        Cuda::load(Device::open(index)?)
    }

    /// The same, but the driver compiles all kernels from PTX, as it does on chips that no machine code is shipped for.
    pub fn open_compiling(index: usize) -> Result<Cuda, Error> {
        let mut device = Device::open(index)?;
        device.takes_machine_code = false;
        Cuda::load(device)
    }

    fn load(device: Device) -> Result<Cuda, Error> {
        let device = Arc::new(device);
        let kernels = Arc::new(Kernels::load(&device)?);
        Cuda::with(device, kernels)
    }

    /// The same device for another worker: the same kernels, a stream of its own.
    pub fn beside(&self) -> Result<Cuda, Error> {
        Cuda::with(Arc::new(Device::open(self.info().index)?), self.kernels.clone())
    }

    fn with(device: Arc<Device>, kernels: Arc<Kernels>) -> Result<Cuda, Error> {
        let scratch = Mutex::new(Scratch::new(&device)?);
        Ok(Cuda { kernels, scratch, filtered: AtomicBool::new(false), device })
    }

    /// The device in use.
    pub fn info(&self) -> &DeviceInfo {
        &self.device.info
    }

    /// Free and total memory of the device now.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.device.memory()
    }

    /// Gives memory that this process keeps for its next allocations back to the system, once all work is done.
    ///
    /// # Errors
    /// A device that fails.
    pub fn release_kept_memory(&self) -> Result<(), Error> {
        self.device.release_kept_memory()
    }

    /// Lets the correlation ratio sample the moving image through the texture unit's own filter, whose weights have eight
    /// bits (1/256 voxel), instead of by eight reads and weights in single precision, which is the default.
    pub fn filter_by_texture(&self, filtered: bool) {
        self.filtered.store(filtered, Ordering::Relaxed);
    }

    /// Bytes a second, read and written, of a copy within device memory: the ceiling for kernels that move data.
    pub fn copy_bandwidth(&self) -> Result<f64, Error> {
        profile::copy_bandwidth(&self.device)
    }

    /// Waits until all work is done; an error of any earlier launch arrives here at the latest.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.synchronize("synchronize")
    }

    /// From now on, times every launch. What was timed before is dropped.
    pub fn start_profile(&self) {
        self.device.profile().start();
    }

    /// Stops timing: launches, time and bytes of each kernel since [`start_profile`](Cuda::start_profile).
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
        })
    }

    /// Room for three numbers from each of `blocks` blocks.
    fn reserve(&mut self, device: &Arc<Device>, blocks: usize) -> Result<(), Error> {
        if self.partial.len() < 3 * blocks {
            self.partial = Buffer::zeroed(device, 3 * blocks.next_power_of_two())?;
        }
        Ok(())
    }
}
