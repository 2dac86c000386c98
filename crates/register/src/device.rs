//! Devices: listing, opening and using them.

use std::fmt::Formatter;
#[cfg(feature = "cuda")]
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "cuda")]
use antsreg_kernels::Cuda;
use antsreg_kernels::bias::BiasBackend;
use antsreg_kernels::fusion::FusionBackend;
use antsreg_kernels::ops::Memory as _;
use antsreg_kernels::{self as kernels, Place};

use crate::backend::{OnBackend, with_backend};
#[cfg(feature = "cuda")]
use crate::preload;
use crate::{Description, DeviceChoice, Error};

impl DeviceChoice {
    /// Checks that the chosen device exists, if the choice is a GPU with a number.
    ///
    /// # Errors
    /// [`Error::NoDevice`].
    pub fn check(self) -> Result<(), Error> {
        let DeviceChoice::Cuda(index) = self else { return Ok(()) };
        match gpus() {
            Ok(gpus) if index < gpus.len() => Ok(()),
            Ok(gpus) => Err(self.refused(kernels::Error::NoDevice { index, count: gpus.len() })),
            Err(reason) => Err(self.refused(reason)),
        }
    }

    /// Opens the device; this takes up to a second for a GPU. `Auto` uses the CPU if the first GPU cannot be used;
    /// [`Opened::instead_of_gpu`] then holds the reason.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the GPU with this number cannot be used.
    pub fn open(self) -> Result<Opened, Error> {
        let began = Instant::now();
        let index = match self {
            DeviceChoice::Cpu => return Ok(Opened::cpu(None)),
            DeviceChoice::Auto => 0,
            DeviceChoice::Cuda(index) => index,
        };
        match open_gpu(index) {
            Ok(device) => Ok(Opened { device, seconds: Some(began.elapsed().as_secs_f64()), instead_of_gpu: None }),
            Err(reason) if self == DeviceChoice::Auto => Ok(Opened::cpu(Some(reason))),
            Err(reason) => Err(self.refused(reason)),
        }
    }

    /// Opens the device while `work`, such as reading files, runs on this thread. Returns when both have ended, also if
    /// the work failed: a program must not end while a driver starts.
    pub fn open_during<T>(self, work: impl FnOnce() -> T) -> (T, Result<Opened, Error>) {
        std::thread::scope(|scope| {
            let opening = scope.spawn(move || self.open());
            let done = work();
            (done, opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn refused(self, reason: kernels::Error) -> Error {
        // If CUDA finds no device, the error of the driver does not contain the number of the GPU that was requested.
        // So this number is set here.
        let reason = match (reason, self) {
            (kernels::Error::NoDevice { count, .. }, DeviceChoice::Cuda(index)) => {
                kernels::Error::NoDevice { index, count }
            }
            (other, _) => other,
        };
        Error::NoDevice { asked: self.to_string(), reason: Box::new(reason), there: there() }
    }
}

/// An open device. Clones share it; a GPU is released when the last clone is dropped.
#[derive(Clone)]
pub struct Device {
    pub(crate) on: OnBackend<()>,
    description: Description,
}

/// Memory of a device, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Free memory.
    pub free: u64,
    /// GPU memory that this process has freed but keeps for its next allocations, bytes. These bytes are not part of
    /// `free`.
    pub kept: u64,
    /// Total memory.
    pub total: u64,
}

impl Device {
    /// The CPU, with all threads of the rayon pool in which a registration is called.
    pub fn cpu() -> Device {
        Device { on: OnBackend::Cpu(()), description: Description::Cpu }
    }

    /// A device on which the CPU computes, but which describes itself as another device. Tests with several devices use
    /// it.
    #[doc(hidden)]
    pub fn cpu_described_as(description: Description) -> Device {
        Device { on: OnBackend::Cpu(()), description }
    }

    /// Description of the device: the CPU, or the name and properties of the GPU.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Says in which memory the device stores its data: main memory, or the memory of one GPU.
    pub fn place(&self) -> Place {
        with_backend!(&self.on, (backend, ()) => backend.place())
    }

    /// Whether the device is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.description != Description::Cpu
    }

    /// Whether only one process at a time may use the device: a GPU in the compute mode "exclusive process".
    pub fn is_exclusive(&self) -> bool {
        match &self.on {
            OnBackend::Cpu(()) => false,
            #[cfg(feature = "cuda")]
            OnBackend::Cuda(cuda, ()) => cuda.info().exclusive,
        }
    }

    /// Returns a second handle of the device for another thread; on a GPU, the handle has a separate stream.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn beside(&self) -> Result<Device, Error> {
        let on = match &self.on {
            OnBackend::Cpu(()) => OnBackend::Cpu(()),
            #[cfg(feature = "cuda")]
            OnBackend::Cuda(cuda, ()) => OnBackend::Cuda(Arc::new(cuda.beside()?), ()),
        };
        Ok(Device { on, description: self.description.clone() })
    }

    /// Memory of a GPU; `None` on the CPU.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn memory(&self) -> Result<Option<Memory>, Error> {
        match &self.on {
            OnBackend::Cpu(()) => Ok(None),
            #[cfg(feature = "cuda")]
            OnBackend::Cuda(cuda, ()) => {
                let kernels::cuda::Memory { free, kept, total } = cuda.memory()?;
                Ok(Some(Memory { free, kept, total }))
            }
        }
    }

    /// Waits for all work. Then gives back to the system the GPU memory that this process has freed but kept for later
    /// allocations.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn release_kept_memory(&self) -> Result<(), Error> {
        match &self.on {
            OnBackend::Cpu(()) => Ok(()),
            #[cfg(feature = "cuda")]
            OnBackend::Cuda(cuda, ()) => Ok(cuda.release_kept_memory()?),
        }
    }

    /// Runs work that uses GPUs, then restores the calling thread's current CUDA context.
    pub fn keeping_the_threads<T>(work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "cuda")]
        let _kept = kernels::cuda::KeptContext::new();
        work()
    }

    /// The CUDA backend, if the device is a GPU. It is needed to measure kernels, and to use GPU memory of other
    /// libraries.
    #[cfg(feature = "cuda")]
    pub fn cuda(&self) -> Option<&Arc<Cuda>> {
        match &self.on {
            OnBackend::Cpu(()) => None,
            OnBackend::Cuda(cuda, ()) => Some(cuda),
        }
    }

    /// Runs a computation of the caller on this device.
    ///
    /// # Errors
    /// Errors of the computation.
    pub fn run<T: Computation>(&self, computation: T) -> Result<T::Output, T::Error> {
        with_backend!(&self.on, (backend, ()) => computation.run(backend))
    }
}

/// A computation for the CPU or a GPU, defined by the caller of this crate; see [`Device::run`].
pub trait Computation {
    /// Type of the result that the caller's computation returns.
    type Output;
    /// Type of the errors that the caller's computation returns.
    type Error;

    /// Runs the caller's computation on the CPU or on a GPU, through the operations of `backend`.
    ///
    /// # Errors
    /// Errors of the computation.
    fn run<B: BiasBackend + FusionBackend>(self, backend: &B) -> Result<Self::Output, Self::Error>;
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.description)
    }
}

/// The device (CPU or GPU) that was opened for computing. If the user preferred a GPU but the CPU is used, this also
/// holds the reason.
#[derive(Debug)]
pub struct Opened {
    /// The device.
    pub device: Device,
    /// Time to open the GPU, seconds; `None` if no GPU was opened.
    pub seconds: Option<f64>,
    /// Why [`DeviceChoice::Auto`] did not use a GPU; `None` if it used a GPU, or if the user chose the device.
    pub instead_of_gpu: Option<kernels::Error>,
}

impl Opened {
    fn cpu(instead_of_gpu: Option<kernels::Error>) -> Opened {
        Opened { device: Device::cpu(), seconds: None, instead_of_gpu }
    }

    /// Returns a second handle of this device, for another worker.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn beside(&self) -> Result<Opened, Error> {
        Ok(Opened { device: self.device.beside()?, seconds: None, instead_of_gpu: None })
    }
}

/// All NVIDIA GPUs of this machine.
///
/// # Errors
/// No GPU can be used; the error contains the reason.
#[cfg(feature = "cuda")]
pub fn gpus() -> Result<Vec<Description>, kernels::Error> {
    match Cuda::devices()?.as_slice() {
        [] => Err(kernels::Error::NoDevice { index: 0, count: 0 }),
        devices => Ok(devices.iter().map(Description::from).collect()),
    }
}

/// All NVIDIA GPUs of this machine: none, because this build has no CUDA.
///
/// # Errors
/// Always an error, because this build has no CUDA.
#[cfg(not(feature = "cuda"))]
pub fn gpus() -> Result<Vec<Description>, kernels::Error> {
    Err(WITHOUT_CUDA)
}

#[cfg(not(feature = "cuda"))]
const WITHOUT_CUDA: kernels::Error = kernels::Error::NoDriver { reason: "this program was built without CUDA" };

#[cfg(feature = "cuda")]
fn open_gpu(index: usize) -> Result<Device, kernels::Error> {
    let cuda = Cuda::open_with(index, preload::DEFAULT)?;
    let description = Description::from(cuda.info());
    Ok(Device { on: OnBackend::Cuda(Arc::new(cuda), ()), description })
}

#[cfg(not(feature = "cuda"))]
fn open_gpu(_: usize) -> Result<Device, kernels::Error> {
    Err(WITHOUT_CUDA)
}

/// Returns a list of the names of the machine's devices, for messages.
pub fn there() -> String {
    let gpus = gpus().unwrap_or_default();
    let names = gpus.iter().map(|gpu| gpu.choice().to_string());
    std::iter::once(DeviceChoice::Cpu.to_string()).chain(names).collect::<Vec<_>>().join(", ")
}
