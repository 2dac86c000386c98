//! The workers of all devices. Those of a device come when it is ready, so that none waits for the slowest.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use antsreg_pool::{BackgroundThreads, Late, StageThreads, Workers};
use crossbeam_channel::{Receiver, Sender, select, unbounded};

use super::Engine;
use crate::device::{Description, Opened, TooLittle};
use crate::devices::{self, Opening, Ready};
use crate::error::CliError;
use crate::progress::Console;

/// Workers who are there, and those who will come.
pub struct Engines {
    there: Mutex<Vec<Engine>>,
    coming: Opening,
    /// How many of them.
    to_come: AtomicUsize,
    /// Memory that a GPU must have free to be of use, bytes.
    needed_bytes: u64,
    are_gpus: bool,
    /// The device of each who has come so far.
    devices: Mutex<Vec<Description>>,
    say: Sender<Said>,
    said: Receiver<Said>,
    /// Whether what is under way is the last that they do.
    last: bool,
    leaving: Mutex<Vec<JoinHandle<()>>>,
}

/// What the user should know of devices, as they come.
#[derive(Clone)]
pub struct Notes(Receiver<Said>);

#[derive(Debug, PartialEq)]
enum Said {
    Note(String),
    Warning(String),
}

impl Notes {
    /// Tells what there is so far.
    pub fn tell(&self, console: &mut Console) {
        for said in self.0.try_iter() {
            match said {
                Said::Note(text) => console.note(text),
                Said::Warning(text) => console.warn(text),
            }
        }
    }
}

impl Engines {
    /// Of devices that are getting ready: as soon as one is. For `auto` those are left out, with a warning, that have less
    /// memory free than is needed, and the processor comes where none is left. A GPU that was asked for by name stays, and
    /// refuses what is too much for it.
    pub fn of(coming: Opening, needed_bytes: impl FnOnce() -> Result<u64, CliError>) -> Result<Engines, CliError> {
        let first = coming.next()?;
        // Only where it counts: there may be many headers to read.
        let counts = coming.is_auto() && (first.free_bytes.is_some() || first.unusable.is_some());
        let needed_bytes = if counts { needed_bytes()? } else { 0 };
        let ((there, devices, leaving), (say, said), to_come) =
            (Default::default(), unbounded(), AtomicUsize::new(0));
        let (are_gpus, last) = (false, false);
        let mut engines =
            Engines { there, coming, to_come, needed_bytes, are_gpus, devices, say, said, last, leaving };
        let mut there = engines.admit(first);
        while there.is_empty() {
            there = engines.admit(engines.coming.next()?);
        }
        engines.are_gpus = there.iter().any(Engine::is_gpu);
        engines.there = Mutex::new(there);
        Ok(engines)
    }

    /// Waits for all the others as well.
    pub fn all(self) -> Result<Engines, CliError> {
        for ready in self.coming.ready() {
            let more = self.admit(ready?);
            lock(&self.there).extend(more);
        }
        Ok(self)
    }

    /// Workers in all, also those still to come.
    pub fn workers(&self) -> usize {
        lock(&self.devices).len() + self.to_come.load(Ordering::Relaxed)
    }

    /// The device of each worker who has come so far.
    pub fn devices(&self) -> Vec<Description> {
        lock(&self.devices).clone()
    }

    /// What the user should know of devices, as they come.
    pub fn notes(&self) -> Notes {
        Notes(self.said.clone())
    }

    /// Threads for long work beside workers on GPUs; on the processor such work shares the pool of all.
    pub fn background(&self, threads: usize) -> Result<BackgroundThreads, CliError> {
        Ok(if self.are_gpus { BackgroundThreads::new(threads)? } else { BackgroundThreads::shared() })
    }

    /// One of them, for what cannot be shared out; before the last run.
    pub fn one(&mut self) -> &mut Engine {
        &mut self.there.get_mut().unwrap_or_else(PoisonError::into_inner)[0]
    }

    /// Takes every job through the stages, as [`antsreg_pool::run`] does.
    pub fn run<Job: Send, Loaded: Send, Computed: Send, Written: Send>(
        &mut self,
        jobs: Vec<Job>,
        stage_threads: StageThreads,
        read: impl Fn(Job) -> Loaded + Sync,
        compute: impl Fn(&mut Engine, Loaded) -> Computed + Sync,
        write: impl Fn(Computed) -> Written + Sync,
        done: impl FnMut(Written),
    ) -> Result<(), CliError> {
        antsreg_pool::run(self, jobs, stage_threads, read, compute, write, done)
    }

    /// For a last run. A device is let go of when it has nothing more to do, which takes a driver a while: in the background,
    /// until this is dropped.
    pub fn last(&mut self) -> &mut Engines {
        self.last = true;
        self
    }

    /// For a last run on one of the devices that are there: all others are let go of at once, in the background as well.
    pub fn last_device(&mut self) -> &mut Engines {
        let stays = self.one().description.choice();
        self.coming.end();
        let others: Vec<Engine> = lock(&self.there).extract_if(.., |one| one.description.choice() != stays).collect();
        self.release(others);
        self.last()
    }

    /// Workers who are there, and at work on nothing.
    pub fn there(&self) -> usize {
        lock(&self.there).len()
    }

    /// The workers of a device that is ready; none where it is of no use.
    fn admit(&self, Ready { workers, free_bytes, to_come, unusable }: Ready) -> Vec<Engine> {
        self.to_come.store(to_come, Ordering::Relaxed);
        let too_little = free_bytes.zip(workers.first()).and_then(|(free_bytes, worker)| {
            TooLittle::of(worker.description.choice(), self.needed_bytes, free_bytes)
        });
        let too_little = too_little.filter(|_| self.coming.is_auto());
        if let Some(reason) = unusable.or_else(|| too_little.map(|too_little| too_little.to_string())) {
            let alone = to_come == 0 && lock(&self.devices).is_empty();
            let instead = if alone { "takes the CPU" } else { "leaves it out" };
            self.say(Said::Warning(format!("{reason}; --device auto {instead}")));
            return Vec::new();
        }
        workers.iter().filter_map(Opened::note).for_each(|note| self.say(Said::Note(note)));
        lock(&self.devices).extend(workers.iter().map(|worker| worker.description.clone()));
        Engine::on(workers, free_bytes)
    }

    /// Drops workers in the background; here and now if no thread can be started for that.
    fn release<T: Send + 'static>(&self, workers: T) {
        lock(&self.leaving).extend(antsreg_pool::in_background("letting go of devices", move || drop(workers)).ok());
    }

    fn say(&self, said: Said) {
        // The other end is this struct's own.
        let _ = self.say.send(said);
    }
}

impl Workers for Engines {
    type Worker = Engine;
    type Error = CliError;

    fn place(&self, engine: &Engine) -> usize {
        engine.place()
    }

    fn ready(&self) -> Vec<Engine> {
        std::mem::take(&mut lock(&self.there))
    }

    fn later(&self, late: &Late<Engine>) -> Result<(), CliError> {
        loop {
            select! {
                recv(self.coming.ready()) -> ready => match ready {
                    Ok(ready) => self.admit(ready?).into_iter().try_for_each(|engine| late.start(engine))?,
                    Err(_) => return Ok(()),
                },
                recv(late.all_taken()) -> _ => return Ok(()),
            }
        }
    }

    fn give_back(&self, engine: Engine) {
        match self.last {
            true => self.release(engine),
            false => lock(&self.there).push(engine),
        }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        lock(&self.leaving).drain(..).for_each(devices::wait_for);
    }
}

/// The lock, also after a panic in another thread: nothing is left half done under it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceChoice;
    use crate::devices::Devices;

    /// A device with two workers, as if it were a GPU with so much memory; so many workers follow.
    fn ready(free_bytes: u64, to_come: usize) -> Ready {
        let worker = || DeviceChoice::Cpu.open().expect("the processor");
        let mut workers = vec![worker(), worker()];
        for worker in &mut workers {
            worker.description = Description::Cuda {
                index: to_come / 2,
                name: "GPU".into(),
                compute_capability: "9.0".into(),
                driver_cuda: "13.0".into(),
                memory_bytes: free_bytes,
            };
        }
        Ready { workers, free_bytes: Some(free_bytes), to_come, unusable: None }
    }

    /// A GPU that could not be opened.
    fn unusable(number: usize, to_come: usize) -> Ready {
        let unusable = Some(format!("cuda:{number} cannot be used: it fell off the bus"));
        Ready { workers: Vec::new(), free_bytes: None, to_come, unusable }
    }

    #[test]
    fn auto_goes_on_without_gpus_that_cannot_be_opened() {
        let of = |ready| Engines::of(Opening::of(Devices::default(), ready), || Ok(500_000_000)).expect("devices");
        let leaves = |number, instead: &str| {
            warning(&format!("cuda:{number} cannot be used: it fell off the bus; --device auto {instead}"))
        };
        // The first of them: the memory of the others counts all the same.
        let engines = of(vec![unusable(2, 4), ready(3_000_000, 2), ready(600_000_000, 0)]).all().expect("devices");
        assert_eq!(engines.devices().len(), 2);
        let said: Vec<Said> = engines.said.try_iter().collect();
        assert_eq!((said.len(), &said[0]), (2, &leaves(2, "leaves it out")));
        // The last of them: its workers are waited for no longer.
        let engines = of(vec![ready(600_000_000, 2), unusable(0, 0)]);
        assert_eq!(engines.workers(), 4);
        let engines = engines.all().expect("devices");
        assert_eq!((engines.workers(), engines.said.try_iter().collect()), (2, vec![leaves(0, "leaves it out")]));
        // All of them.
        let engines = of(vec![unusable(1, 2), unusable(0, 0)]);
        assert_eq!(engines.devices(), [Description::Cpu]);
        let said: Vec<Said> = engines.said.try_iter().collect();
        assert_eq!(said, [leaves(1, "leaves it out"), leaves(0, "takes the CPU")]);
    }

    /// What comes of devices with so much memory free, in 10⁶ bytes, where 500 are needed: the workers in all when the first
    /// is there and in the end, the devices, and what is said.
    fn come(asked: Devices, free_mb: &[u64]) -> ([usize; 2], Vec<String>, Vec<Said>) {
        let after = |n: usize| 2 * (free_mb.len() - n - 1);
        let ready = free_mb.iter().enumerate().map(|(n, mb)| ready(mb * 1_000_000, after(n))).collect();
        let engines = Engines::of(Opening::of(asked, ready), || Ok(500_000_000)).expect("devices");
        let first = engines.workers();
        let engines = engines.all().expect("devices");
        let devices = engines.devices().iter().map(|device| device.choice().to_string()).collect();
        ([first, engines.workers()], devices, engines.said.try_iter().collect())
    }

    #[test]
    fn the_last_run_may_be_on_one_device_alone() {
        let of = || {
            let ready = vec![ready(600_000_000, 2), ready(600_000_000, 0)];
            Engines::of(Opening::of(Devices::AllGpus, ready), || Ok(0)).expect("devices")
        };
        let stage_threads = StageThreads { readers: 4, writers: 4 };
        // Whether the other one is there or still to come.
        for mut engines in [of().all().expect("devices"), of()] {
            let engines = engines.last_device();
            assert_eq!(engines.there(), 2);
            let mut who = Vec::new();
            let compute = |engine: &mut Engine, _| engine.description.choice();
            engines
                .run((0..20).collect(), stage_threads, |job| job, compute, |it| it, |it| who.push(it))
                .expect("no failure");
            assert!(who.len() == 20 && who.iter().all(|choice| *choice == who[0]), "{who:?}");
        }
    }

    fn warning(text: &str) -> Said {
        Said::Warning(text.into())
    }

    #[test]
    fn auto_leaves_out_gpus_with_too_little_memory_and_takes_the_cpu_where_none_is_left() {
        let (workers, devices, said) = come(Devices::default(), &[500, 499, 900]);
        assert_eq!(
            (workers, devices),
            ([6, 4], vec!["cuda:2".into(), "cuda:2".into(), "cuda:0".into(), "cuda:0".into()])
        );
        let needs = "registering takes about 500 MB of device memory";
        assert_eq!(said, [warning(&format!("cuda:1: {needs}, 499 MB are free; --device auto leaves it out"))]);

        let (workers, devices, said) = come(Devices::default(), &[3, 600]);
        assert_eq!((workers, devices), ([2, 2], vec!["cuda:0".to_owned(); 2]));
        assert_eq!(said, [warning(&format!("cuda:1: {needs}, 3 MB are free; --device auto leaves it out"))]);

        let (workers, devices, said) = come(Devices::default(), &[3, 4]);
        assert_eq!((workers, devices), ([1, 1], vec!["cpu".to_owned()]));
        let expected = [
            format!("cuda:1: {needs}, 3 MB are free; --device auto leaves it out"),
            format!("cuda:0: {needs}, 4 MB are free; --device auto takes the CPU"),
        ];
        assert_eq!(said, expected.map(Said::Warning));
    }

    #[test]
    fn gpus_that_were_asked_for_stay_whatever_their_memory() {
        for asked in [Devices::AllGpus, Devices::Several(vec![0, 1]), Devices::One(DeviceChoice::Cuda(0))] {
            let (workers, devices, said) = come(asked, &[3, 900]);
            assert_eq!((workers, devices.len(), said), ([4, 4], 4, Vec::new()));
        }
    }
}
