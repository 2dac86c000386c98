//! Names and descriptions of devices. Only this module defines the names.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

#[cfg(feature = "cuda")]
use antsreg_kernels::cuda::DeviceInfo;
use serde::{Deserialize, Serialize};

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
