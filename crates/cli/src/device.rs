//! Where the computing happens: the one place that knows the names of devices.

use std::str::FromStr;

use serde::Serialize;

use crate::values::ValueError;

/// The device as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The fastest device there is.
    #[default]
    Auto,
    /// The processor's cores.
    Cpu,
}

impl DeviceChoice {
    /// Every valid value, for messages and help.
    pub const NAMES: &'static str = "auto or cpu";

    /// The device that will be used.
    pub fn resolve(self) -> Device {
        match self {
            DeviceChoice::Auto | DeviceChoice::Cpu => Device::Cpu,
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<DeviceChoice, ValueError> {
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            _ => Err(ValueError::Malformed { expected: DeviceChoice::NAMES, found: text.into() }),
        }
    }
}

/// A device that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The processor's cores.
    Cpu,
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Cpu => write!(f, "cpu"),
        }
    }
}
