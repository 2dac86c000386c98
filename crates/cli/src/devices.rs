//! `--device` of the verbs that work on many images: one device or several, each with its workers.

use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, never, unbounded};

use antsreg_kernels::Error;

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

    /// How many of the first GPUs can be used, where that is known before the driver starts. `alone`: by a verb that uses one
    /// device.
    pub fn first_gpus(&self, alone: bool) -> Option<usize> {
        let last = match self {
            Devices::One(DeviceChoice::Auto) if alone => 0,
            Devices::One(DeviceChoice::Cuda(index)) => *index,
            Devices::Several(numbers) => *numbers.iter().max()?,
            Devices::One(DeviceChoice::Auto | DeviceChoice::Cpu) | Devices::AllGpus => return None,
        };
        Some(last.saturating_add(1))
    }

    /// The devices of a verb that uses all it gets: for `auto` every GPU, or the processor where there is none.
    fn all(&self) -> Result<Vec<DeviceChoice>, CliError> {
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

/// Devices that get ready in the background. Each comes as soon as it is.
pub struct Opening {
    asked: Devices,
    workers: Option<usize>,
    ready: Receiver<Result<Ready, CliError>>,
    opening: Option<JoinHandle<()>>,
}

/// A device that is ready.
pub struct Ready {
    /// For each of its workers; those of a GPU share its kernels.
    pub workers: Vec<Opened>,
    /// Memory of a GPU that is free.
    pub free_bytes: Option<u64>,
    /// Workers of the devices that are not ready yet.
    pub to_come: usize,
    /// Why it has no worker: one of those that `auto` stands for, which cannot be used.
    pub unusable: Option<String>,
}

/// Begins to prepare the devices, each for so many workers. Unless told, a GPU has three, as its kernels fill only half of a
/// registration's time, and the processor one, which uses all threads.
///
/// One after the other: the driver makes one context at a time, and asked for several at once has them all ready at the end.
pub fn open(devices: &Devices, workers: Option<usize>) -> Opening {
    begin(devices, workers, Devices::all)
}

/// Begins to prepare one device for one worker; for `auto` the first GPU, however many there are.
pub fn open_alone(choice: DeviceChoice) -> Opening {
    begin(&Devices::One(choice), Some(1), move |_| Ok(vec![choice]))
}

fn begin(
    asked: &Devices,
    workers: Option<usize>,
    choose: impl FnOnce(&Devices) -> Result<Vec<DeviceChoice>, CliError> + Send + 'static,
) -> Opening {
    let (devices, (to_ready, ready)) = (asked.clone(), unbounded());
    let to_say_why = to_ready.clone();
    let opening = antsreg_pool::in_background("opening devices", move || {
        // False where nobody listens any more.
        let tell = |ready| to_ready.send(ready).is_ok();
        let all = choose(&devices).and_then(|choices| {
            // None is opened before all are known to be there.
            choices.iter().skip(1).try_for_each(|choice| choice.check())?;
            Ok(choices)
        });
        match all {
            Ok(choices) => {
                let auto = devices == Devices::default();
                open_all(&choices, auto, workers, |choice, others| open_one(choice, others, workers), tell)
            }
            Err(error) => {
                tell(Err(error));
            }
        }
    });
    let opening = match opening {
        Ok(thread) => Some(thread),
        Err(error) => {
            // The other end is this struct's own.
            let _ = to_say_why.send(Err(error.into()));
            None
        }
    };
    Opening { asked: asked.clone(), workers, ready, opening }
}

/// Prepares one device after the other, each followed by so many others, and tells of it for as long as anyone listens. Of
/// those that `auto` stands for, one that cannot be used has no workers.
fn open_all(
    choices: &[DeviceChoice],
    auto: bool,
    workers: Option<usize>,
    open: impl Fn(DeviceChoice, usize) -> Result<Ready, CliError>,
    tell: impl Fn(Result<Ready, CliError>) -> bool,
) {
    for (n, choice) in choices.iter().enumerate() {
        let others = choices.len() - n - 1;
        let ready = open(*choice, others).or_else(|error| match error {
            CliError::NoDevice { reason, .. } | CliError::Device(reason) if auto => Ok(Ready {
                workers: Vec::new(),
                free_bytes: None,
                to_come: others * workers.unwrap_or(USUAL_WORKERS),
                unusable: Some(format!("{choice} cannot be used: {reason}")),
            }),
            other => Err(other),
        });
        if !tell(ready) {
            break;
        }
    }
}

/// Prepares a device that so many others follow.
fn open_one(choice: DeviceChoice, others: usize, workers: Option<usize>) -> Result<Ready, CliError> {
    let first = choice.open()?;
    // Known only now: `auto` may have come to the processor.
    let usual = if first.device.cuda().is_some() { USUAL_WORKERS } else { 1 };
    let mut all = vec![first];
    for _ in 1..workers.unwrap_or(usual) {
        all.push(all[0].beside()?);
    }
    let memory = all[0].device.cuda().map(|cuda| cuda.memory().map_err(CliError::Device)).transpose()?;
    let (to_come, free_bytes) = (others * all.len(), memory.map(|memory| memory.free));
    Ok(Ready { workers: all, free_bytes, to_come, unusable: None })
}

impl Opening {
    /// Whether the choice is this program's: then the processor takes the place of GPUs that are of no use.
    pub fn is_auto(&self) -> bool {
        self.asked == Devices::One(DeviceChoice::Auto)
    }

    /// The device that is ready next; for `auto` the processor after the last of them.
    pub fn next(&self) -> Result<Ready, CliError> {
        let none = || CliError::NoDevice {
            asked: self.asked.to_string(),
            reason: Error::NoDevice { index: 0, count: 0 },
            there: device::there(),
        };
        match self.ready.recv() {
            Ok(ready) => ready,
            Err(_) if self.is_auto() => open_one(DeviceChoice::Cpu, 0, self.workers),
            Err(_) => Err(none()),
        }
    }

    /// Begins no further one.
    pub fn end(&mut self) {
        self.ready = never();
    }

    /// Where the others come out; closed when all have come.
    pub fn ready(&self) -> &Receiver<Result<Ready, CliError>> {
        &self.ready
    }
}

impl Drop for Opening {
    /// Begins no further one and waits for the one under way: a program must not end while a driver starts.
    fn drop(&mut self) {
        self.ready = never();
        self.opening.take().into_iter().for_each(wait_for);
    }
}

/// Waits until a thread has ended; panics if it has.
pub fn wait_for(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join()
        && !std::thread::panicking()
    {
        std::panic::resume_unwind(panic);
    }
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

    impl Opening {
        /// Of these devices, as if they had got ready.
        pub fn of(asked: Devices, ready: Vec<Ready>) -> Opening {
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
    fn one_registration_takes_one_device() {
        assert_eq!(Devices::default().one(), Ok(DeviceChoice::Auto));
        assert!(Devices::Several(vec![0, 1]).one().is_err_and(|error| error.to_string().contains("cuda:0,1")));
        assert!(Devices::AllGpus.one().is_err());
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
            assert_eq!((devices.first_gpus(true), devices.first_gpus(false)), (alone, together), "{text}");
        }
    }

    #[test]
    fn what_was_named_is_taken_as_it_is() {
        let all = |devices: Devices| devices.all().expect("there is nothing to look up");
        assert_eq!(all(Devices::One(DeviceChoice::Cpu)), [DeviceChoice::Cpu]);
        assert_eq!(all(Devices::Several(vec![2, 0])), [DeviceChoice::Cuda(2), DeviceChoice::Cuda(0)]);
    }

    /// Workers, those to come, and why there are none; or the error.
    type Told = Result<(usize, usize, Option<String>), String>;

    /// What is told of three GPUs whose second one cannot be opened.
    fn three_but_the_second(auto: bool) -> Vec<Told> {
        let choices = [0, 1, 2].map(DeviceChoice::Cuda);
        let open = |choice: DeviceChoice, others| match choice {
            DeviceChoice::Cuda(1) => Err(CliError::NoDevice {
                asked: choice.to_string(),
                reason: Error::NoDevice { index: 1, count: 1 },
                there: "--device cpu".into(),
            }),
            _ => open_one(DeviceChoice::Cpu, others, Some(2)),
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
        assert!(asked_for[1].as_ref().is_err_and(|error| error.starts_with("--device cuda:1 cannot be used")));
    }

    #[test]
    fn a_device_is_opened_once_a_worker() {
        for (workers, expected) in [(None, 1), (Some(3), 3)] {
            let opening = open(&Devices::One(DeviceChoice::Cpu), workers);
            let found: Vec<Ready> = opening.ready().iter().map(|ready| ready.expect("the processor")).collect();
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].workers.len(), found[0].to_come), (expected, 0));
        }
    }
}
