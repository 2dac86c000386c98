//! Where the computing happens: the one place that knows the names of devices.

use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::time::Instant;

use antsreg_kernels::cuda::DeviceInfo;
use antsreg_kernels::{Cuda, Error};
use serde::Serialize;

use crate::error::CliError;
use crate::values::ValueError;

/// The device as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The first NVIDIA GPU where there is one that can be used, else the processor.
    #[default]
    Auto,
    /// The processor's cores.
    Cpu,
    /// The NVIDIA GPU of this number, or nothing.
    Cuda(usize),
}

impl DeviceChoice {
    /// Every valid value, for messages and help.
    pub const NAMES: &'static str = "auto, cpu, cuda or cuda:N";

    /// Refuses a number that no GPU has.
    pub fn check(self) -> Result<(), CliError> {
        let DeviceChoice::Cuda(index) = self else { return Ok(()) };
        match Cuda::devices() {
            Ok(devices) if index < devices.len() => Ok(()),
            Ok(devices) => Err(self.refused(Error::NoDevice { index, count: devices.len() })),
            Err(reason) => Err(self.refused(reason)),
        }
    }

    fn refused(self, reason: Error) -> CliError {
        // A driver without any device does not know which one was asked for.
        let reason = match (reason, self) {
            (Error::NoDevice { count, .. }, DeviceChoice::Cuda(index)) => Error::NoDevice { index, count },
            (other, _) => other,
        };
        CliError::NoDevice { asked: self.to_string(), reason, there: there() }
    }

    /// Prepares the device, which takes a GPU up to a second.
    pub fn open(self) -> Result<Opened, CliError> {
        let began = Instant::now();
        let index = match self {
            DeviceChoice::Cpu => return Ok(Opened::cpu(None)),
            DeviceChoice::Auto => 0,
            DeviceChoice::Cuda(index) => index,
        };
        match Cuda::open(index) {
            Ok(cuda) => {
                let description = Description::from(cuda.info());
                let seconds = Some(began.elapsed().as_secs_f64());
                Ok(Opened { device: Device::Cuda(Box::new(cuda)), description, seconds, instead_of_gpu: None })
            }
            Err(reason) if self == DeviceChoice::Auto => Ok(Opened::cpu(Some(reason))),
            Err(reason) => Err(self.refused(reason)),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<DeviceChoice, ValueError> {
        let malformed = || ValueError::Malformed { expected: DeviceChoice::NAMES, found: text.into() };
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
                Ok(DeviceChoice::Cuda(number.and_then(|number| number.parse().ok()).ok_or_else(malformed)?))
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

/// A device that is ready.
pub enum Device {
    /// The processor's cores.
    Cpu,
    /// An NVIDIA GPU.
    Cuda(Box<Cuda>),
}

impl Device {
    /// The GPU, if it is one.
    pub fn cuda(&self) -> Option<&Cuda> {
        match self {
            Device::Cpu => None,
            Device::Cuda(cuda) => Some(cuda),
        }
    }
}

/// A device that is ready, and how it came to be the one.
pub struct Opened {
    /// The device.
    pub device: Device,
    /// What it is.
    pub description: Description,
    /// How long a GPU took to get ready.
    pub seconds: Option<f64>,
    /// Why `auto` did not take a GPU.
    pub instead_of_gpu: Option<Error>,
}

impl Opened {
    fn cpu(instead_of_gpu: Option<Error>) -> Opened {
        Opened { device: Device::Cpu, description: Description::Cpu, seconds: None, instead_of_gpu }
    }

    /// The same device for another worker; on a GPU with streams of its own.
    pub fn beside(&self) -> Result<Opened, CliError> {
        let device = match &self.device {
            Device::Cpu => Device::Cpu,
            Device::Cuda(cuda) => Device::Cuda(Box::new(cuda.beside().map_err(CliError::Device)?)),
        };
        Ok(Opened { device, description: self.description.clone(), seconds: None, instead_of_gpu: None })
    }

    /// What the user should know about the choice; nothing where the user made it.
    pub fn note(&self) -> Option<String> {
        match (self.seconds, &self.instead_of_gpu) {
            (Some(seconds), _) => Some(format!("device: {}, ready in {seconds:.2} s", self.description)),
            (None, Some(reason)) => Some(instead(reason)),
            (None, None) => None,
        }
    }
}

/// Why `auto` takes the processor.
pub fn instead(reason: &dyn Display) -> String {
    format!("device: cpu, because {reason}")
}

/// A GPU has too little memory for what it is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{device}: registering takes about {needed_mb} MB of device memory, {free_mb} MB are free")]
pub struct TooLittle {
    device: DeviceChoice,
    needed_mb: u64,
    free_mb: u64,
}

impl TooLittle {
    /// So much is needed, and less is free.
    pub fn new(device: DeviceChoice, needed_bytes: u64, free_bytes: u64) -> TooLittle {
        // Rounded apart, so that both numbers never read the same.
        TooLittle { device, needed_mb: needed_bytes.div_ceil(1_000_000), free_mb: free_bytes / 1_000_000 }
    }

    /// Whether it is too little.
    pub fn of(device: DeviceChoice, needed_bytes: u64, free_bytes: u64) -> Option<TooLittle> {
        (needed_bytes > free_bytes).then(|| TooLittle::new(device, needed_bytes, free_bytes))
    }
}

/// What a device is, for people and for the record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Description {
    /// The processor's cores.
    Cpu,
    /// An NVIDIA GPU.
    Cuda {
        /// Its number.
        index: usize,
        /// Its name, as the vendor gives it.
        name: String,
        /// Such as 9.0.
        compute_capability: String,
        /// The newest CUDA version its driver speaks, such as 13.0.
        driver_cuda: String,
        /// All its memory.
        memory_bytes: u64,
    },
}

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
    /// The value of `--device` that asks for it.
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

/// Every NVIDIA GPU of this machine, or why there is none.
pub fn gpus() -> Result<Vec<Description>, Error> {
    match Cuda::devices()?.as_slice() {
        [] => Err(Error::NoDevice { index: 0, count: 0 }),
        devices => Ok(devices.iter().map(Description::from).collect()),
    }
}

/// What `--device` could be given on this machine, in words.
pub fn there() -> String {
    let gpus = gpus().unwrap_or_default();
    let names: Vec<String> = gpus.iter().map(|gpu| format!("--device {}", gpu.choice())).collect();
    [vec!["--device cpu".to_owned()], names].concat().join(", ")
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
