//! The option `--device`, which chooses the device of a measurement.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use antsreg_kernels::Cuda;

use crate::error::Error;
use crate::output;

/// A device, as named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first usable NVIDIA GPU; the CPU if there is none.
    Auto,
    /// The CPU.
    Cpu,
    /// The NVIDIA GPU with this index, from 0.
    Cuda(usize),
}

impl DeviceChoice {
    /// Opens the chosen GPU; `None` if the CPU is chosen.
    pub fn open(self) -> Result<Option<Cuda>, Error> {
        let index = match self {
            DeviceChoice::Cpu => return Ok(None),
            DeviceChoice::Auto => 0,
            DeviceChoice::Cuda(index) => index,
        };
        match Cuda::open(index) {
            Ok(cuda) => {
                output::note(format_args!("device: cuda:{index} ({})", cuda.info().name));
                Ok(Some(cuda))
            }
            Err(reason) if self == DeviceChoice::Auto => {
                output::note(format_args!("device: cpu, because {reason}"));
                Ok(None)
            }
            Err(source) => Err(Error::NoDevice { asked: self.to_string(), source }),
        }
    }

    /// Opens the GPU for a measurement that runs only on a GPU. `auto` means the first GPU.
    pub fn open_gpu(self) -> Result<Cuda, Error> {
        let choice = if self == DeviceChoice::Auto { DeviceChoice::Cuda(0) } else { self };
        choice.open()?.ok_or(Error::NeedsGpu)
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
                let number = number.and_then(|number| number.parse().ok()).map(DeviceChoice::Cuda);
                number.ok_or_else(|| format!("expected auto, cpu, cuda or cuda:N, found `{text}`"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for (text, choice) in
            [("auto", DeviceChoice::Auto), ("cpu", DeviceChoice::Cpu), ("cuda:12", DeviceChoice::Cuda(12))]
        {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:+1"] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
