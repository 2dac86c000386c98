//! The workers of all devices. Each worker computes one registration at a time on its device (CPU or GPU). A device's
//! workers start as soon as the device is ready, without waiting for slower devices.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, select, unbounded};

use antsreg_register::{Description, DeviceNote, Opened, TooLittleMemory};

use crate::devices::{self, Opening, Ready};
use crate::{Error, Late, StageThreads, Target, Worker, Workers, in_background, pipeline};

/// The workers of all devices: those that are ready, and those whose device is still being opened.
pub struct DeviceWorkers {
    idle: Mutex<Vec<Worker>>,
    opening: Opening,
    /// Number of workers (threads that compute registrations) that will start when the devices that are still being
    /// opened are open.
    to_come: AtomicUsize,
    /// Memory that a GPU must have free to be used, bytes.
    needed_bytes: u64,
    are_gpus: bool,
    /// The device of each worker that has started so far.
    devices: Mutex<Vec<Description>>,
    send: Sender<DeviceNote>,
    notes: Receiver<DeviceNote>,
    /// Whether the present list of jobs (such as subjects) is the last list that these workers compute, so that devices
    /// can be released when no job is left.
    last: bool,
    releasing: Mutex<Vec<JoinHandle<()>>>,
}

impl DeviceWorkers {
    /// Creates the workers of devices that are being opened; waits for the first device. For `auto`, GPUs with less
    /// free memory than `needed_bytes` returns are left out, and the CPU is used if no GPU is left. A GPU that the user
    /// has named is always used; registrations that need more memory than this GPU has then fail.
    ///
    /// # Errors
    /// A device that cannot be used, or an error of `needed_bytes`. This function is called only if the choice of
    /// devices depends on its result.
    pub fn new<E: From<Error>>(
        opening: Opening,
        needed_bytes: impl FnOnce() -> Result<u64, E>,
    ) -> Result<DeviceWorkers, E> {
        let first = opening.next()?;
        // Computing the needed memory may mean reading the headers of many files, so it is done only if the choice of
        // devices depends on the result.
        let counts = opening.is_auto() && (first.free_bytes.is_some() || first.unusable.is_some());
        let needed_bytes = if counts { needed_bytes()? } else { 0 };
        let (send, notes) = unbounded();
        let mut workers = DeviceWorkers {
            idle: Mutex::default(),
            opening,
            to_come: AtomicUsize::new(0),
            needed_bytes,
            are_gpus: false,
            devices: Mutex::default(),
            send,
            notes,
            last: false,
            releasing: Mutex::default(),
        };
        let mut idle = workers.admit(first);
        while idle.is_empty() {
            idle = workers.admit(workers.opening.next()?);
        }
        workers.are_gpus = idle.iter().any(Worker::is_gpu);
        workers.idle = Mutex::new(idle);
        Ok(workers)
    }

    /// Waits until the remaining devices are open.
    ///
    /// # Errors
    /// A device that cannot be used.
    pub fn all(self) -> Result<DeviceWorkers, Error> {
        self.wait_for_all()?;
        Ok(self)
    }

    /// Waits until the remaining devices are open, as [`all`](DeviceWorkers::all) does.
    ///
    /// # Errors
    /// A device that cannot be used.
    pub fn wait_for_all(&self) -> Result<(), Error> {
        for ready in self.opening.ready() {
            let more = self.admit(ready?);
            lock(&self.idle).extend(more);
        }
        Ok(())
    }

    /// Number of workers, including those of devices that are still being opened.
    pub fn workers(&self) -> usize {
        lock(&self.devices).len() + self.to_come.load(Ordering::Relaxed)
    }

    /// Whether the workers compute on GPUs.
    pub fn are_gpus(&self) -> bool {
        self.are_gpus
    }

    /// The device of each worker that has started so far.
    pub fn devices(&self) -> Vec<Description> {
        lock(&self.devices).clone()
    }

    /// A channel of messages about devices, sent as soon as something happens.
    pub fn notes(&self) -> Receiver<DeviceNote> {
        self.notes.clone()
    }

    /// Returns an idle worker, for work that needs a single device. Must not be called during the last run over a list
    /// of jobs, because idle workers are released in that run.
    pub fn one(&mut self) -> &mut Worker {
        &mut self.idle.get_mut().unwrap_or_else(PoisonError::into_inner)[0]
    }

    /// Releases the prepared fixed sides (images, channels and masks) of all idle workers, so that their memory is free
    /// for other work.
    pub fn release_prepared(&mut self) {
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Worker::release_prepared);
    }

    /// Releases all idle workers and their devices in the background, because the driver needs some time to release a
    /// device. No further work is possible. Dropping `self` waits for these releases.
    pub fn release_idle(&mut self) {
        self.opening.end();
        let workers = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.release(workers);
    }

    /// Prepares the fixed side of registrations (image, channels and masks) on all idle workers at the same time. If a
    /// worker cannot prepare the fixed side, its first registration to this fixed side returns the error.
    pub fn prepare(&mut self, target: &Arc<Target>) {
        std::thread::scope(|scope| {
            for worker in self.idle.get_mut().unwrap_or_else(PoisonError::into_inner) {
                // If the thread cannot be started now, this worker prepares the fixed image, channels and masks later,
                // before its first registration.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || worker.prepare(target));
            }
        });
    }

    /// Takes every job (such as one subject) through reading, computing and writing, as [`pipeline::run`](crate::run)
    /// does.
    ///
    /// # Errors
    /// A thread that cannot be started; a device that cannot be used.
    pub fn run<Job: Send, Loaded: Send, Computed: Send, Written: Send>(
        &mut self,
        jobs: Vec<Job>,
        threads: StageThreads,
        read: impl Fn(Job) -> Loaded + Sync,
        compute: impl Fn(&mut Worker, Loaded) -> Computed + Sync,
        write: impl Fn(Computed) -> Written + Sync,
        done: impl FnMut(Written),
    ) -> Result<(), Error> {
        pipeline::run(self, jobs, threads, read, compute, write, done)
    }

    /// Announces that the next call of [`run`](DeviceWorkers::run) is the last. During that run, a device with no job
    /// left is released in the background, because the driver needs some time for this. Dropping `self` waits until all
    /// devices are released.
    pub fn last(&mut self) -> &mut DeviceWorkers {
        self.last = true;
        self
    }

    /// Announces that the next call of [`run`](DeviceWorkers::run) is the last and needs only one device: all other
    /// devices are released immediately.
    pub fn last_device(&mut self) -> &mut DeviceWorkers {
        let stays = self.one().description().choice();
        self.opening.end();
        let others: Vec<Worker> =
            lock(&self.idle).extract_if(.., |worker| worker.description().choice() != stays).collect();
        self.release(others);
        self.last()
    }

    /// Number of workers that have no job at present.
    pub fn idle(&self) -> usize {
        lock(&self.idle).len()
    }

    /// Adds a device that has been opened, and returns its workers. If the device cannot be used or has too little free
    /// memory, `auto` leaves it out, and the list of workers is empty.
    fn admit(&self, Ready { workers, free_bytes, to_come, unusable }: Ready) -> Vec<Worker> {
        self.to_come.store(to_come, Ordering::Relaxed);
        let too_little = free_bytes.zip(workers.first()).and_then(|(free_bytes, worker)| {
            TooLittleMemory::of(worker.device.description().choice(), self.needed_bytes, free_bytes)
        });
        let too_little = too_little.filter(|_| self.opening.is_auto());
        if let Some(reason) = unusable.or_else(|| too_little.map(|too_little| too_little.to_string())) {
            let cpu_instead = to_come == 0 && lock(&self.devices).is_empty();
            self.note(DeviceNote::LeftOut { reason, cpu_instead });
            return Vec::new();
        }
        workers.iter().filter_map(Opened::note).for_each(|note| self.note(note));
        lock(&self.devices).extend(workers.iter().map(|worker| worker.device.description().clone()));
        Worker::of_device(workers, free_bytes)
    }

    fn note(&self, note: DeviceNote) {
        // Sending a message about a device to the user through the channel `notes` cannot fail, because `self` also
        // owns the receiving end of the channel.
        let _ = self.send.send(note);
    }

    /// Drops workers on a background thread, or on this thread if no thread can be started.
    fn release(&self, workers: Vec<Worker>) {
        if let Ok(thread) = in_background("releasing a device", move || drop(workers)) {
            lock(&self.releasing).push(thread);
        }
    }
}

impl Workers for DeviceWorkers {
    type Worker = Worker;
    type Error = Error;

    fn place(&self, worker: &Worker) -> usize {
        worker.place()
    }

    fn ready(&self) -> Vec<Worker> {
        std::mem::take(&mut lock(&self.idle))
    }

    fn later(&self, late: &Late<'_, Worker>) -> Result<(), Error> {
        loop {
            select! {
                recv(self.opening.ready()) -> ready => match ready {
                    Ok(ready) => self.admit(ready?).into_iter().try_for_each(|worker| late.start(worker))?,
                    Err(_) => return Ok(()),
                },
                recv(late.all_taken()) -> _ => return Ok(()),
            }
        }
    }

    fn give_back(&self, worker: Worker) {
        match self.last {
            true => self.release(vec![worker]),
            false => lock(&self.idle).push(worker),
        }
    }
}

impl Drop for DeviceWorkers {
    fn drop(&mut self) {
        lock(&self.releasing).drain(..).for_each(devices::wait_for);
    }
}

/// Locks a mutex, even if another thread has panicked while it held the lock. The data is consistent also then: every
/// change under these locks is either complete or not begun.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use antsreg_register::{Device, DeviceChoice};

    use crate::Devices;

    /// A simulated GPU with two workers and `free_bytes` of free memory. The devices that are opened after this GPU
    /// will have `to_come` workers together.
    fn ready(free_bytes: u64, to_come: usize) -> Ready {
        let description = Description::Cuda {
            index: to_come / 2,
            name: "GPU".into(),
            compute_capability: "9.0".into(),
            driver_cuda: "13.0".into(),
            memory_bytes: free_bytes,
        };
        let worker = || {
            let device = Device::cpu_described_as(description.clone());
            Opened { device, seconds: None, instead_of_gpu: None }
        };
        Ready { workers: vec![worker(), worker()], free_bytes: Some(free_bytes), to_come, unusable: None }
    }

    /// A simulated GPU that could not be opened.
    fn unusable(number: usize, to_come: usize) -> Ready {
        let unusable = Some(format!("cuda:{number} cannot be used: it fell off the bus"));
        Ready { workers: Vec::new(), free_bytes: None, to_come, unusable }
    }

    #[test]
    fn auto_goes_on_without_gpus_that_cannot_be_opened() {
        let of = |ready| {
            DeviceWorkers::new::<Error>(Opening::of(Devices::default(), ready), || Ok(500_000_000)).expect("devices")
        };
        let leaves = |number, cpu_instead| {
            left_out(&format!("cuda:{number} cannot be used: it fell off the bus"), cpu_instead)
        };
        // If the first device fails, the memory of the other devices is still checked.
        let workers = of(vec![unusable(2, 4), ready(3_000_000, 2), ready(600_000_000, 0)]).all().expect("devices");
        assert_eq!(workers.devices().len(), 2);
        let notes: Vec<DeviceNote> = workers.notes.try_iter().collect();
        assert_eq!((notes.len(), &notes[0]), (2, &leaves(2, false)));
        // The last device cannot be opened. The number of workers then no longer includes the workers that this device
        // would have had.
        let workers = of(vec![ready(600_000_000, 2), unusable(0, 0)]);
        assert_eq!(workers.workers(), 4);
        let workers = workers.all().expect("devices");
        assert_eq!((workers.workers(), workers.notes.try_iter().collect()), (2, vec![leaves(0, false)]));
        // None of the simulated GPUs can be opened, so the CPU is used.
        let workers = of(vec![unusable(1, 2), unusable(0, 0)]);
        assert_eq!(workers.devices(), [Description::Cpu]);
        let notes: Vec<DeviceNote> = workers.notes.try_iter().collect();
        assert_eq!(notes, [leaves(1, false), leaves(0, true)]);
    }

    /// Opens simulated GPUs with the given free memory (`free_mb`, in 10⁶ bytes); a GPU needs 500·10⁶ free bytes to be
    /// used. Returns the number of workers when the first device is ready and when all are open, the device of each
    /// worker, and the messages about devices.
    fn come(asked: Devices, free_mb: &[u64]) -> ([usize; 2], Vec<String>, Vec<DeviceNote>) {
        let after = |n: usize| 2 * (free_mb.len() - n - 1);
        let ready = free_mb.iter().enumerate().map(|(n, mb)| ready(mb * 1_000_000, after(n))).collect();
        let workers = DeviceWorkers::new::<Error>(Opening::of(asked, ready), || Ok(500_000_000)).expect("devices");
        let first = workers.workers();
        let workers = workers.all().expect("devices");
        let devices = workers.devices().iter().map(|device| device.choice().to_string()).collect();
        ([first, workers.workers()], devices, workers.notes.try_iter().collect())
    }

    #[test]
    fn the_last_run_may_be_on_one_device_alone() {
        let of = || {
            let ready = vec![ready(600_000_000, 2), ready(600_000_000, 0)];
            DeviceWorkers::new::<Error>(Opening::of(Devices::AllGpus, ready), || Ok(0)).expect("devices")
        };
        let threads = StageThreads { readers: 4, writers: 4 };
        // The test passes in both cases: the second device is open before the run, or is still being opened when the
        // run begins.
        for mut workers in [of().all().expect("devices"), of()] {
            let workers = workers.last_device();
            assert_eq!(workers.idle(), 2);
            let mut who = Vec::new();
            let compute = |worker: &mut Worker, _| worker.description().choice();
            workers
                .run((0..20).collect(), threads, |job| job, compute, |it| it, |it| who.push(it))
                .expect("no failure");
            assert!(who.len() == 20 && who.iter().all(|choice| *choice == who[0]), "{who:?}");
        }
    }

    fn left_out(reason: &str, cpu_instead: bool) -> DeviceNote {
        DeviceNote::LeftOut { reason: reason.into(), cpu_instead }
    }

    #[test]
    fn auto_leaves_out_gpus_with_too_little_memory_and_takes_the_cpu_where_none_is_left() {
        let (workers, devices, notes) = come(Devices::default(), &[500, 499, 900]);
        assert_eq!(
            (workers, devices),
            ([6, 4], vec!["cuda:2".into(), "cuda:2".into(), "cuda:0".into(), "cuda:0".into()])
        );
        let needs = "registering takes about 500 MB of device memory";
        assert_eq!(notes, [left_out(&format!("cuda:1: {needs}, 499 MB are free"), false)]);

        let (workers, devices, notes) = come(Devices::default(), &[3, 600]);
        assert_eq!((workers, devices), ([2, 2], vec!["cuda:0".to_owned(); 2]));
        assert_eq!(notes, [left_out(&format!("cuda:1: {needs}, 3 MB are free"), false)]);

        let (workers, devices, notes) = come(Devices::default(), &[3, 4]);
        assert_eq!((workers, devices), ([1, 1], vec!["cpu".to_owned()]));
        let expected = [
            left_out(&format!("cuda:1: {needs}, 3 MB are free"), false),
            left_out(&format!("cuda:0: {needs}, 4 MB are free"), true),
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn gpus_that_were_asked_for_stay_whatever_their_memory() {
        for asked in [Devices::AllGpus, Devices::Several(vec![0, 1]), Devices::One(DeviceChoice::Cuda(0))] {
            let (workers, devices, notes) = come(asked, &[3, 900]);
            assert_eq!((workers, devices.len(), notes), ([4, 4], 4, Vec::new()));
        }
    }
}
