//! Devices chosen by the user, opened in the background, each with its workers.

use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::thread::JoinHandle;

use antsreg_register::{Description, DeviceChoice, DeviceNote, Error as RegisterError, Opened, TooWide, gpus};
use crossbeam_channel::{Receiver, never, unbounded};
use serde::{Deserialize, Serialize};

use crate::{Error, in_background};

/// The devices (CPU or GPUs) on which the user wants the registrations to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Devices {
    /// One device, or `auto` (the choice of the program).
    One(DeviceChoice),
    /// The GPUs with these numbers, counted from 0.
    Several(Vec<usize>),
    /// All GPUs.
    AllGpus,
}

/// How work uses GPUs, as far as this is known before the driver starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuUse {
    /// Number of GPUs that the work may use, counted from GPU 0.
    pub first: usize,
    /// Whether one worker does all the work. Otherwise several workers may share a GPU.
    pub one_worker: bool,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices::One(DeviceChoice::Auto)
    }
}

impl Devices {
    /// All ways to name devices, for messages.
    pub const NAMES: &'static str = "auto, cpu, cuda, cuda:N, cuda:N,N… or cuda:all";

    fn refused(&self, reason: antsreg_kernels::Error) -> Error {
        RegisterError::NoDevice {
            asked: self.to_string(),
            reason: Box::new(reason),
            there: antsreg_register::there(),
        }
        .into()
    }

    /// The GPUs that the work may use; `None` if this is not known before the driver starts. `alone` means work of one
    /// worker, which uses only one device.
    pub fn gpu_use(&self, alone: bool) -> Option<GpuUse> {
        let last = match self {
            Devices::One(DeviceChoice::Auto) if alone => 0,
            Devices::One(DeviceChoice::Cuda(index)) => *index,
            Devices::Several(numbers) => *numbers.iter().max()?,
            Devices::One(DeviceChoice::Auto | DeviceChoice::Cpu) | Devices::AllGpus => return None,
        };
        Some(GpuUse { first: last.saturating_add(1), one_worker: alone })
    }

    /// The devices to open for registrations: these devices, or the CPU in place of `auto` if no GPU supports the window
    /// `too_wide` of the cross-correlation. The note says why the CPU was chosen.
    #[must_use]
    pub fn for_window(&self, too_wide: Option<TooWide>) -> (Devices, Option<DeviceNote>) {
        match self {
            Devices::One(choice) => {
                let (choice, note) = choice.for_window(too_wide);
                (Devices::One(choice), note)
            }
            several => (several.clone(), None),
        }
    }

    /// The devices one by one. `auto` stands for all GPUs, or for the CPU if there is no GPU.
    fn all(&self) -> Result<Vec<DeviceChoice>, Error> {
        let gpus = || gpus().map(|gpus| gpus.iter().map(Description::choice).collect::<Vec<_>>());
        match self {
            // If there is a single GPU, `auto` itself replaces an unusable GPU by the CPU.
            Devices::One(DeviceChoice::Auto) => Ok(match gpus() {
                Ok(gpus) if gpus.len() > 1 => gpus,
                _ => vec![DeviceChoice::Auto],
            }),
            Devices::One(choice) => Ok(vec![*choice]),
            Devices::Several(numbers) => Ok(numbers.iter().copied().map(DeviceChoice::Cuda).collect()),
            Devices::AllGpus => gpus().map_err(|reason| self.refused(reason)),
        }
    }
}

/// The devices (CPU or GPUs) of the user's choice, which a background thread opens one after the other.
pub struct Opening {
    asked: Devices,
    workers: Option<usize>,
    ready: Receiver<Result<Ready, Error>>,
    opening: Option<JoinHandle<()>>,
}

/// A device (CPU or GPU) that has been opened for registrations, with its workers.
pub struct Ready {
    /// The opened device, once for each of the workers that compute on this device. On a GPU, each worker has its own
    /// stream, but all share the compiled kernels.
    pub workers: Vec<Opened>,
    /// Free memory, bytes; `None` on the CPU.
    pub free_bytes: Option<u64>,
    /// Number of workers of the devices that are still being opened.
    pub to_come: usize,
    /// Reason why the device cannot be used, if `auto` chose the device; the device then has no workers. `None` for a
    /// device that can be used.
    pub unusable: Option<String>,
}

/// Starts opening the devices, each for this number of workers. The default is five workers on a GPU, because the small
/// kernels of coarse levels and searches of one worker do not occupy the whole GPU. On the CPU the default is one
/// worker, which uses all threads.
///
/// The devices are opened one after the other, because the driver creates one context at a time.
///
/// # Errors
/// A thread that cannot be started.
pub fn open(devices: &Devices, workers: Option<usize>) -> Result<Opening, Error> {
    begin(devices, workers, Devices::all, DeviceChoice::open, Opened::beside)
}

/// Starts opening the devices as [`open`] does, by a function that may return a device that is already open. The
/// function is called for every worker.
///
/// # Errors
/// A thread that cannot be started.
pub fn open_by(
    devices: &Devices,
    workers: Option<usize>,
    open: impl Fn(DeviceChoice) -> Result<Opened, RegisterError> + Clone + Send + 'static,
) -> Result<Opening, Error> {
    let again = open.clone();
    begin(devices, workers, Devices::all, open, move |first| again(first.device.description().choice()))
}

/// Starts opening one device for one worker; for `auto` the first GPU, even if there are several.
///
/// # Errors
/// A thread that cannot be started.
pub fn open_alone(choice: DeviceChoice) -> Result<Opening, Error> {
    begin(&Devices::One(choice), Some(1), move |_| Ok(vec![choice]), DeviceChoice::open, Opened::beside)
}

fn begin(
    asked: &Devices,
    workers: Option<usize>,
    choose: impl FnOnce(&Devices) -> Result<Vec<DeviceChoice>, Error> + Send + 'static,
    open: impl Fn(DeviceChoice) -> Result<Opened, RegisterError> + Send + 'static,
    again: impl Fn(&Opened) -> Result<Opened, RegisterError> + Send + 'static,
) -> Result<Opening, Error> {
    let (devices, (to_ready, ready)) = (asked.clone(), unbounded());
    let opening = in_background("opening devices", move || {
        // Passes an opened device on to the thread that waits for devices. Returns false if that thread waits for no
        // more devices.
        let tell = |ready| to_ready.send(ready).is_ok();
        let all = choose(&devices).and_then(|choices| {
            // Before the first device is opened, the program checks that all devices exist.
            choices.iter().skip(1).try_for_each(|choice| choice.check())?;
            Ok(choices)
        });
        match all {
            Ok(choices) => {
                let auto = devices == Devices::default();
                let open = |choice, others| open_one(open(choice)?, &again, others, workers);
                open_all(&choices, auto, workers, open, tell)
            }
            Err(error) => {
                tell(Err(error));
            }
        }
    })?;
    Ok(Opening { asked: asked.clone(), workers, ready, opening: Some(opening) })
}

/// Opens the devices one after another. Calls `tell` with each opened device, until `tell` returns false because nobody
/// receives devices any more. A device that `auto` chose and that cannot be used is passed on without workers.
fn open_all(
    choices: &[DeviceChoice],
    auto: bool,
    workers: Option<usize>,
    open: impl Fn(DeviceChoice, usize) -> Result<Ready, Error>,
    tell: impl Fn(Result<Ready, Error>) -> bool,
) {
    for (n, choice) in choices.iter().enumerate() {
        let others = choices.len() - n - 1;
        let left_out = |reason: &dyn Display| Ready {
            workers: Vec::new(),
            free_bytes: None,
            to_come: others * workers.unwrap_or(USUAL_WORKERS),
            unusable: Some(format!("{choice} cannot be used: {reason}")),
        };
        let ready = open(*choice, others).or_else(|error| match error {
            Error::Register(RegisterError::NoDevice { reason, .. }) if auto => Ok(left_out(&reason)),
            Error::Register(RegisterError::Device(reason)) if auto => Ok(left_out(&reason)),
            other => Err(other),
        });
        if !tell(ready) {
            break;
        }
    }
}

/// Makes the workers that compute on an open device. The first worker uses the device `first`; `again` opens the same
/// device again for each further worker. `others` is the number of devices that are still to be opened.
fn open_one(
    first: Opened,
    again: impl Fn(&Opened) -> Result<Opened, RegisterError>,
    others: usize,
    workers: Option<usize>,
) -> Result<Ready, Error> {
    // The default number of workers depends on whether `auto` has opened a GPU or the CPU, which is known only now.
    let usual = if first.device.is_gpu() { USUAL_WORKERS } else { 1 };
    let mut all = vec![first];
    for _ in 1..workers.unwrap_or(usual) {
        all.push(again(&all[0])?);
    }
    let memory = all[0].device.memory()?;
    let (to_come, free_bytes) = (others * all.len(), memory.map(|memory| memory.free));
    Ok(Ready { workers: all, free_bytes, to_come, unusable: None })
}

impl Opening {
    /// Whether the user chose `auto`, so that the CPU may replace GPUs that cannot be used.
    pub fn is_auto(&self) -> bool {
        self.asked == Devices::One(DeviceChoice::Auto)
    }

    /// The devices that are being opened, or the CPU in place of `auto` as in [`Devices::for_window`].
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn for_window(self, too_wide: Option<TooWide>) -> Result<(Opening, Option<DeviceNote>), Error> {
        match self.asked.for_window(too_wide) {
            (devices, Some(note)) => Ok((open(&devices, self.workers)?, Some(note))),
            (_, None) => Ok((self, None)),
        }
    }

    /// Waits until the next of the chosen devices has been opened. For `auto` the CPU comes after the last GPU, for the
    /// case that no GPU can be used.
    ///
    /// # Errors
    /// A device that cannot be used.
    pub fn next(&self) -> Result<Ready, Error> {
        let none = || self.asked.refused(antsreg_kernels::Error::NoDevice { index: 0, count: 0 });
        match self.ready.recv() {
            Ok(ready) => ready,
            Err(_) if self.is_auto() => open_one(DeviceChoice::Cpu.open()?, Opened::beside, 0, self.workers),
            Err(_) => Err(none()),
        }
    }

    /// Stops opening further devices (GPUs) in the background.
    pub fn end(&mut self) {
        self.ready = never();
    }

    /// The channel through which the opened devices arrive. The channel closes after the last device.
    pub fn ready(&self) -> &Receiver<Result<Ready, Error>> {
        &self.ready
    }
}

impl Drop for Opening {
    /// Stops opening further devices and waits for the device that is being opened: the program must not end while a
    /// driver starts.
    fn drop(&mut self) {
        self.ready = never();
        self.opening.take().into_iter().for_each(wait_for);
    }
}

/// Waits until a thread has ended. Panics if the thread panicked.
pub fn wait_for(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join()
        && !std::thread::panicking()
    {
        std::panic::resume_unwind(panic);
    }
}

/// Default number of workers on a GPU.
pub const USUAL_WORKERS: usize = 5;

/// The error for a text that does not name any devices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {}, found `{found}`", Devices::NAMES)]
pub struct UnknownDevices {
    /// The text that the user gave as the name of devices.
    pub found: String,
}

impl FromStr for Devices {
    type Err = UnknownDevices;

    fn from_str(text: &str) -> Result<Devices, UnknownDevices> {
        let malformed = || UnknownDevices { found: text.into() };
        match text.strip_prefix("cuda:") {
            Some("all") => Ok(Devices::AllGpus),
            Some(list) if list.contains(',') => {
                let number = |part: &str| match format!("cuda:{part}").parse() {
                    Ok(DeviceChoice::Cuda(number)) => Ok(number),
                    _ => Err(malformed()),
                };
                let numbers = list.split(',').map(number).collect::<Result<Vec<usize>, UnknownDevices>>()?;
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

    impl Opening {
        /// Makes a list of opened devices for a test, as if a background thread had opened these devices.
        pub(crate) fn of(asked: Devices, ready: Vec<Ready>) -> Opening {
            let (to_ready, all) = unbounded();
            ready.into_iter().for_each(|ready| to_ready.send(Ok(ready)).expect("the other end is here"));
            Opening { asked, workers: None, ready: all, opening: None }
        }
    }

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
    fn the_driver_need_not_see_more_gpus_than_can_be_used() {
        for (text, alone, together) in [
            ("auto", Some(1), None),
            ("cpu", None, None),
            ("cuda:2", Some(3), Some(3)),
            ("cuda:3,1", Some(4), Some(4)),
            ("cuda:all", None, None),
        ] {
            let devices: Devices = text.parse().expect("devices");
            let of = |first: Option<usize>, one_worker| first.map(|first| GpuUse { first, one_worker });
            assert_eq!(devices.gpu_use(true), of(alone, true), "{text}");
            assert_eq!(devices.gpu_use(false), of(together, false), "{text}");
        }
    }

    #[test]
    fn what_was_named_is_taken_as_it_is() {
        let all = |devices: Devices| devices.all().expect("there is nothing to look up");
        assert_eq!(all(Devices::One(DeviceChoice::Cpu)), [DeviceChoice::Cpu]);
        assert_eq!(all(Devices::Several(vec![2, 0])), [DeviceChoice::Cuda(2), DeviceChoice::Cuda(0)]);
    }

    /// What a test compares for each opened device: its number of workers, the number of workers of devices still to
    /// come, and the reason if it has no workers; or the error.
    type Told = Result<(usize, usize, Option<String>), String>;

    /// Three GPUs of which the second cannot be opened.
    fn three_but_the_second(auto: bool) -> Vec<Told> {
        let choices = [0, 1, 2].map(DeviceChoice::Cuda);
        let open = |choice: DeviceChoice, others| match choice {
            DeviceChoice::Cuda(1) => Err(RegisterError::NoDevice {
                asked: choice.to_string(),
                reason: Box::new(antsreg_kernels::Error::NoDevice { index: 1, count: 1 }),
                there: "cpu".into(),
            }
            .into()),
            _ => open_one(DeviceChoice::Cpu.open()?, Opened::beside, others, Some(2)),
        };
        let told = std::cell::RefCell::new(Vec::new());
        open_all(&choices, auto, Some(2), open, |ready| {
            let ready = ready.map(|Ready { workers, to_come, unusable, .. }| (workers.len(), to_come, unusable));
            told.borrow_mut().push(ready.map_err(|error| error.to_string()));
            true
        });
        told.into_inner()
    }

    #[test]
    fn auto_goes_on_without_a_gpu_that_cannot_be_opened_and_one_that_was_asked_for_is_an_error() {
        let [Ok(first), Ok((0, 2, Some(reason))), Ok(last)] = &three_but_the_second(true)[..] else {
            panic!("{:?}", three_but_the_second(true));
        };
        assert_eq!((first, last), (&(2, 4, None), &(2, 0, None)));
        assert!(reason.starts_with("cuda:1 cannot be used: "), "{reason}");
        let asked_for = three_but_the_second(false);
        assert!(asked_for[1].as_ref().is_err_and(|error| error.starts_with("the device cuda:1 cannot be used")));
    }

    #[test]
    fn a_device_is_opened_once_a_worker() {
        for (workers, expected) in [(None, 1), (Some(3), 3)] {
            let opening = open(&Devices::One(DeviceChoice::Cpu), workers).expect("a thread");
            let found: Vec<Ready> = opening.ready().iter().map(|ready| ready.expect("the processor")).collect();
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].workers.len(), found[0].to_come), (expected, 0));
        }
    }
}
