//! Devices: listing, choosing and opening them. Only this module defines the names of devices.

use std::fmt::{Display, Formatter};
use std::str::FromStr;
#[cfg(feature = "cuda")]
use std::sync::Arc;
use std::time::Instant;

use antsreg_kernels::{self as kernels, Backend, Cpu, Place};
#[cfg(feature = "cuda")]
use antsreg_kernels::{Cuda, cuda::DeviceInfo};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The device that the user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceChoice {
    /// The first NVIDIA GPU if it can be used, else the CPU.
    #[default]
    Auto,
    /// All cores of the CPU.
    Cpu,
    /// The NVIDIA GPU with this number.
    Cuda(usize),
}

/// A text that is not the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {}, found `{found}`", DeviceChoice::NAMES)]
pub struct UnknownDevice {
    /// The text that the user gave as the name of a device.
    pub found: String,
}

impl DeviceChoice {
    /// All valid names of devices, for messages.
    pub const NAMES: &'static str = "auto, cpu, cuda or cuda:N";

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

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<DeviceChoice, UnknownDevice> {
        let unknown = || UnknownDevice { found: text.into() };
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
                Ok(DeviceChoice::Cuda(number.and_then(|number| number.parse().ok()).ok_or_else(unknown)?))
            }
        }
    }
}

impl Display for DeviceChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceChoice::Auto => write!(f, "auto"),
            DeviceChoice::Cpu => write!(f, "cpu"),
            DeviceChoice::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// An open device. Clones share it; a GPU is released when the last clone is dropped.
#[derive(Clone)]
pub struct Device {
    pub(crate) on: On,
    description: Description,
}

/// The backend (the library's operations for the CPU or for CUDA) that computes on a device.
#[derive(Clone)]
pub(crate) enum On {
    Cpu(Cpu),
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>),
}

/// Macro that evaluates an expression with the operations (`backend`) of a device. The same expression is compiled for
/// the CPU and for CUDA.
macro_rules! with_backend {
    ($device:expr, $backend:ident => $run:expr) => {
        match &$device.on {
            $crate::device::On::Cpu($backend) => $run,
            #[cfg(feature = "cuda")]
            $crate::device::On::Cuda(cuda) => {
                let $backend = cuda.as_ref();
                $run
            }
        }
    };
}
pub(crate) use with_backend;

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
        Device { on: On::Cpu(Cpu), description: Description::Cpu }
    }

    /// A device on which the CPU computes, but which describes itself as another device. Tests with several devices use
    /// it.
    #[doc(hidden)]
    pub fn cpu_described_as(description: Description) -> Device {
        Device { on: On::Cpu(Cpu), description }
    }

    /// Description of the device: the CPU, or the name and properties of the GPU.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Says in which memory the device stores its data: main memory, or the memory of one GPU.
    pub fn place(&self) -> Place {
        with_backend!(self, backend => backend.place())
    }

    /// Whether the device is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.description != Description::Cpu
    }

    /// Whether only one process at a time may use the device: a GPU in the compute mode "exclusive process".
    pub fn is_exclusive(&self) -> bool {
        match &self.on {
            On::Cpu(_) => false,
            #[cfg(feature = "cuda")]
            On::Cuda(cuda) => cuda.info().exclusive,
        }
    }

    /// Returns a second handle of the device for another thread; on a GPU, the handle has a separate stream.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn beside(&self) -> Result<Device, Error> {
        let on = match &self.on {
            On::Cpu(cpu) => On::Cpu(*cpu),
            #[cfg(feature = "cuda")]
            On::Cuda(cuda) => On::Cuda(Arc::new(cuda.beside()?)),
        };
        Ok(Device { on, description: self.description.clone() })
    }

    /// Memory of a GPU; `None` on the CPU.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn memory(&self) -> Result<Option<Memory>, Error> {
        match &self.on {
            On::Cpu(_) => Ok(None),
            #[cfg(feature = "cuda")]
            On::Cuda(cuda) => {
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
            On::Cpu(_) => Ok(()),
            #[cfg(feature = "cuda")]
            On::Cuda(cuda) => Ok(cuda.release_kept_memory()?),
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
            On::Cpu(_) => None,
            On::Cuda(cuda) => Some(cuda),
        }
    }

    /// Runs the computation `task` of a caller on this device.
    ///
    /// # Errors
    /// Errors of the task.
    pub fn run<T: crate::Task>(&self, task: T) -> Result<T::Output, T::Error> {
        with_backend!(self, backend => task.run(backend))
    }
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

/// The description of a device, for messages and records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Description {
    /// All cores of the CPU.
    Cpu,
    /// An NVIDIA GPU.
    Cuda {
        /// Number of the GPU, counted from 0.
        index: usize,
        /// Name of the GPU, given by the vendor.
        name: String,
        /// CUDA compute capability of the GPU, such as 9.0.
        compute_capability: String,
        /// The newest CUDA version that the GPU's driver supports, such as 13.0.
        driver_cuda: String,
        /// Total memory of the GPU, bytes.
        memory_bytes: u64,
    },
}

#[cfg(feature = "cuda")]
impl From<&DeviceInfo> for Description {
    fn from(info: &DeviceInfo) -> Description {
        let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        Description::Cuda {
            index: info.index,
            name: info.name.clone(),
            compute_capability: version(info.capability),
            driver_cuda: version(info.driver),
            memory_bytes: info.memory,
        }
    }
}

impl Description {
    /// Returns the value of `DeviceChoice` with which this device is opened.
    pub fn choice(&self) -> DeviceChoice {
        match self {
            Description::Cpu => DeviceChoice::Cpu,
            Description::Cuda { index, .. } => DeviceChoice::Cuda(*index),
        }
    }
}

impl Display for Description {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Description::Cpu => write!(f, "cpu"),
            Description::Cuda { index, name, compute_capability, driver_cuda, memory_bytes } => write!(
                f,
                "cuda:{index} ({name}, {:.0} GB, compute capability {compute_capability}, driver for CUDA {driver_cuda})",
                *memory_bytes as f64 / 1e9
            ),
        }
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
    let cuda = Cuda::open(index)?;
    let description = Description::from(cuda.info());
    Ok(Device { on: On::Cuda(Arc::new(cuda)), description })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cpu", DeviceChoice::Cpu),
            ("cuda:0", DeviceChoice::Cuda(0)),
            ("cuda:12", DeviceChoice::Cuda(12)),
        ] {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for text in
            ["", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:99999999999999999999"]
        {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
