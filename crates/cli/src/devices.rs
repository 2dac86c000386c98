//! `--device` of the verbs that work on many images: one device or several, each with its workers.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use crate::device::{self, Description, DeviceChoice, Opened};
use crate::error::{CliError, UsageError};
use crate::values::ValueError;

/// The devices as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Devices {
    /// One, or `auto`.
    One(DeviceChoice),
    /// GPUs of these numbers.
    Several(Vec<usize>),
    /// Every GPU there is.
    AllGpus,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices::One(DeviceChoice::Auto)
    }
}

impl Devices {
    /// Every valid value, for messages and help.
    pub const NAMES: &'static str = "auto, cpu, cuda, cuda:N, cuda:N,N… or cuda:all";

    /// The one device of a verb that uses no more.
    pub fn one(&self) -> Result<DeviceChoice, UsageError> {
        match self {
            Devices::One(choice) => Ok(*choice),
            several => Err(UsageError::SeveralDevices { asked: several.to_string() }),
        }
    }

    /// The devices of a verb that uses all it gets: for `auto` every GPU, or the processor where there is none.
    pub fn all(&self) -> Result<Vec<DeviceChoice>, CliError> {
        let gpus = || device::gpus().map(|gpus| gpus.iter().map(Description::choice).collect::<Vec<_>>());
        match self {
            // A single one may turn out to be unusable, which `auto` itself knows to replace.
            Devices::One(DeviceChoice::Auto) => Ok(match gpus() {
                Ok(gpus) if gpus.len() > 1 => gpus,
                _ => vec![DeviceChoice::Auto],
            }),
            Devices::One(choice) => Ok(vec![*choice]),
            Devices::Several(numbers) => Ok(numbers.iter().copied().map(DeviceChoice::Cuda).collect()),
            Devices::AllGpus => gpus().map_err(|reason| CliError::NoDevice {
                asked: self.to_string(),
                reason,
                there: device::there(),
            }),
        }
    }
}

/// Prepares the devices, all at once, each for so many workers; those of a GPU share its kernels. Unless told, a GPU has
/// three, as its kernels fill only half of a registration's time, and the processor one, which uses all threads.
pub fn open(choices: &[DeviceChoice], workers: Option<usize>) -> Result<Vec<Opened>, CliError> {
    let open = |choice: &DeviceChoice| {
        let first = if choices.len() == 1 { choice.open_alone()? } else { choice.open()? };
        // Known only now: `auto` may have come to the processor.
        let usual = if first.device.cuda().is_some() { USUAL_WORKERS } else { 1 };
        let mut all = vec![first];
        for _ in 1..workers.unwrap_or(usual) {
            all.push(all[0].beside()?);
        }
        Ok(all)
    };
    let opened: Vec<Result<Vec<Opened>, CliError>> = std::thread::scope(|scope| {
        let opening: Vec<_> = choices.iter().map(|choice| scope.spawn(move || open(choice))).collect();
        // All are waited for, also where one fails: a program must not end while a driver starts.
        opening
            .into_iter()
            .map(|opening| opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    Ok(opened.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Workers on each GPU.
const USUAL_WORKERS: usize = 3;

impl FromStr for Devices {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Devices, ValueError> {
        let malformed = || ValueError::Malformed { expected: Devices::NAMES, found: text.into() };
        match text.strip_prefix("cuda:") {
            Some("all") => Ok(Devices::AllGpus),
            Some(list) if list.contains(',') => {
                let number = |part: &str| match format!("cuda:{part}").parse() {
                    Ok(DeviceChoice::Cuda(number)) => Ok(number),
                    _ => Err(malformed()),
                };
                let numbers = list.split(',').map(number).collect::<Result<Vec<usize>, ValueError>>()?;
                let twice = (1..numbers.len()).any(|n| numbers[..n].contains(&numbers[n]));
                if twice { Err(malformed()) } else { Ok(Devices::Several(numbers)) }
            }
            _ => text.parse().map(Devices::One).map_err(|_| malformed()),
        }
    }
}

impl Display for Devices {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Devices::One(choice) => write!(f, "{choice}"),
            Devices::Several(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", numbers.join(","))
            }
            Devices::AllGpus => write!(f, "cuda:all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for (text, devices) in [
            ("auto", Devices::default()),
            ("cpu", Devices::One(DeviceChoice::Cpu)),
            ("cuda:3", Devices::One(DeviceChoice::Cuda(3))),
            ("cuda:0,2", Devices::Several(vec![0, 2])),
            ("cuda:all", Devices::AllGpus),
        ] {
            assert_eq!(text.parse(), Ok(devices.clone()));
            assert_eq!(devices.to_string(), text);
        }
        for text in ["", "cuda:", "cuda:0,", "cuda:0,x", "cuda:1,1", "cuda:0,all", "cuda:0,-1", "all", "cpu,cuda:0"] {
            assert!(text.parse::<Devices>().is_err(), "{text}");
        }
    }

    #[test]
    fn one_registration_takes_one_device() {
        assert_eq!(Devices::default().one(), Ok(DeviceChoice::Auto));
        assert!(Devices::Several(vec![0, 1]).one().is_err_and(|error| error.to_string().contains("cuda:0,1")));
        assert!(Devices::AllGpus.one().is_err());
    }

    #[test]
    fn what_was_named_is_taken_as_it_is() {
        let all = |devices: Devices| devices.all().expect("there is nothing to look up");
        assert_eq!(all(Devices::One(DeviceChoice::Cpu)), [DeviceChoice::Cpu]);
        assert_eq!(all(Devices::Several(vec![2, 0])), [DeviceChoice::Cuda(2), DeviceChoice::Cuda(0)]);
    }

    #[test]
    fn a_device_is_opened_once_a_worker() {
        for (workers, expected) in [(None, 1), (Some(3), 3)] {
            assert_eq!(open(&[DeviceChoice::Cpu], workers).map(|opened| opened.len()).ok(), Some(expected));
        }
    }
}
