//! Settings from environment variables for commands of ANTs and FSL, whose command lines have no options for
//! these settings.

use std::env::{VarError, var};

use antsreg_console::{Refusal, threads};
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;

use crate::suite::Suite;

/// The environment variable that chooses the device, with the values of `--device`.
const DEVICE: &str = "ANTSREG_DEVICE";
/// The environment variable that switches the fallback on or off: a refused call runs the next program of the same
/// name.
const FALLBACK: &str = "ANTSREG_FALLBACK";
/// Largest number of threads of a command.
const MOST_THREADS: usize = 1024;

/// Settings of a call of an ANTs or FSL command that are read from environment variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The device that computes (CPU or GPU), as the user chose it.
    pub device: DeviceChoice,
    /// Number of threads of the computation.
    pub threads: usize,
    /// Whether the next program with the command's name on `PATH` runs if this program refuses a call; `None` if the
    /// user has not said so.
    pub fallback: Option<bool>,
}

impl Settings {
    /// The settings of a command of this family of programs.
    ///
    /// # Errors
    /// An environment variable for the device or for the fallback has a value that is not allowed.
    pub fn of(suite: Suite) -> Result<Settings, Refusal> {
        Settings::read(suite, |name| match var(name) {
            Err(VarError::NotPresent) => None,
            Err(VarError::NotUnicode(text)) => Some(text.to_string_lossy().into_owned()),
            Ok(text) => Some(text),
        })
    }

    fn read(suite: Suite, variable: impl Fn(&str) -> Option<String>) -> Result<Settings, Refusal> {
        let given = |name: &str| variable(name).filter(|text| !text.is_empty());
        let device = given(DEVICE).map_or(Ok(DeviceChoice::Auto), |text| {
            text.parse().map_err(|error| Refusal::new(format!("{DEVICE}={text}"), error))
        })?;
        let fallback = match given(FALLBACK).as_deref() {
            None => None,
            Some("0") => Some(false),
            Some("1") => Some(true),
            Some(other) => return Err(Refusal::new(format!("{FALLBACK}={other}"), "expected 0 or 1")),
        };
        // As in ANTs and FSL, a value that is not a positive whole number does not set the number of threads.
        let count = |name: &&str| given(name)?.trim().parse().ok().filter(|count: &usize| *count > 0);
        let threads = suite.threads().iter().find_map(count).unwrap_or_else(threads::available);
        Ok(Settings { device, threads: threads.min(MOST_THREADS), fallback })
    }

    /// The GPUs that the command may use; `None` if this is not known before the driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Devices::One(self.device).gpu_use(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Refusal> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        Settings::read(Suite::Ants, value)
    }

    #[test]
    fn without_variables_the_defaults_of_the_program_hold() {
        let expected = Settings { device: DeviceChoice::Auto, threads: threads::available(), fallback: None };
        assert_eq!(read(&[]), Ok(expected));
        let off = read(&[("ANTSREG_DEVICE", ""), ("ANTSREG_FALLBACK", "0"), ("NSLOTS", "many")]);
        assert_eq!(off, Ok(Settings { fallback: Some(false), ..expected }));
    }

    #[test]
    fn variables_give_the_device_the_threads_and_the_fallback() {
        let found = read(&[("ANTSREG_DEVICE", "cuda:1"), ("NSLOTS", "3"), ("ANTSREG_FALLBACK", "1")]);
        assert_eq!(found, Ok(Settings { device: DeviceChoice::Cuda(1), threads: 3, fallback: Some(true) }));
        let both = read(&[("NSLOTS", "3"), ("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "5")]);
        assert_eq!(both.map(|settings| settings.threads), Ok(5));
        let most = read(&[("NSLOTS", "99999")]);
        assert_eq!(most.map(|settings| settings.threads), Ok(MOST_THREADS));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        let device = read(&[("ANTSREG_DEVICE", "gpu")]).expect_err("no device").to_string();
        assert!(device.contains("ANTSREG_DEVICE=gpu") && device.contains("cuda:N"), "{device}");
        let fallback = read(&[("ANTSREG_FALLBACK", "yes")]).expect_err("no switch").to_string();
        assert!(fallback.contains("ANTSREG_FALLBACK=yes"), "{fallback}");
    }
}
