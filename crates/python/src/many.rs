//! Registers many moving images to one fixed image. Reading, registration and resampling of different images run at the
//! same time, on all chosen devices.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use antsreg_pool::{DeviceWorkers, Devices, StageThreads, Target, USUAL_WORKERS, Worker};
use antsreg_register::{self as register, Description, Device, DeviceChoice, DeviceNote, Grids, Options};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;

use crate::devices::{self, Lease};
use crate::error::{Class, Failure};
use crate::observer::Watcher;
use crate::plan::Plan;
use crate::process;
use crate::register::{From, Ready, Side};
use crate::registration::Registration;
use crate::space::Matrix;

/// Longest wait for a result between two checks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(50);

/// Message of the registration threads to the iterator that returns the results: the number of a moving image with its
/// result, or an error after which no result follows.
type Arrived = Result<(usize, Result<Registration, Failure>), Failure>;

/// Python iterator over the results of many registrations, in the order of the moving images.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Many {
    state: Mutex<State>,
    stop: Arc<AtomicBool>,
    notes: Arc<Mutex<Vec<String>>>,
}

struct State {
    arrived: Option<Receiver<Arrived>>,
    /// Results that are finished but cannot be returned yet, because the registration of an earlier moving image is not
    /// finished. The key is the number of the moving image.
    early: HashMap<usize, Result<Registration, Failure>>,
    next: usize,
    count: usize,
    thread: Option<JoinHandle<()>>,
}

/// Inputs and options that all registrations have in common.
struct Task {
    fixed: Side,
    options: Arc<Options>,
    from: From,
    devices: Devices,
    workers: Option<usize>,
    load: Py<PyAny>,
    count: usize,
    stop: Arc<AtomicBool>,
    notes: Arc<Mutex<Vec<String>>>,
    /// The GPU to which moving images are uploaded before their registration begins. Set only if a single GPU is used.
    upload: OnceLock<Device>,
}

#[pymethods]
impl Many {
    /// Starts the registrations on background threads. `load` is a Python function that returns the moving side (image,
    /// channels and masks) with a given number. Several threads call `load`.
    #[new]
    #[pyo3(signature = (fixed, plan, devices, workers, count, load, start, matrix=None))]
    #[expect(clippy::too_many_arguments, reason = "Python code passes all these arguments to the function")]
    fn new(
        fixed: &Side,
        plan: &Plan,
        devices: &str,
        workers: Option<usize>,
        count: usize,
        load: Py<PyAny>,
        start: &str,
        matrix: Option<Matrix>,
    ) -> Result<Many, Failure> {
        process::enter()?;
        let from = From::new(start, matrix)?;
        let options = Arc::new(plan.options(fixed.side.grid().shape, from.starts())?);
        options.check()?;
        let devices = devices
            .parse()
            .map_err(|error: antsreg_pool::UnknownDevices| Failure::own(Class::Option, format!("device: {error}")))?;
        if workers == Some(0) {
            return Err(Failure::own(Class::Option, "workers: expected at least 1, found 0"));
        }
        let (stop, notes) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<String>>>::default());
        let task = Task {
            fixed: fixed.clone(),
            options,
            from,
            devices,
            workers,
            load,
            count,
            stop: stop.clone(),
            notes: notes.clone(),
            upload: OnceLock::new(),
        };
        // The channel holds a limited number of finished results, so that memory does not grow if the caller is slow.
        let (send, arrived) = bounded(workers.unwrap_or(USUAL_WORKERS));
        let thread = std::thread::Builder::new().name("register_many".into()).spawn(move || run_all(&task, &send));
        let thread = thread.map_err(|error| Failure::own(Class::Device, format!("a thread: {error}")))?;
        let state = State { arrived: Some(arrived), early: HashMap::new(), next: 0, count, thread: Some(thread) };
        Ok(Many { state: Mutex::new(state), stop, notes })
    }

    fn __iter__(slf: PyRef<Self>) -> PyRef<Self> {
        slf
    }

    /// Waits for the result of the next moving image. An image that cannot be registered raises its error.
    fn __next__(&self, py: Python) -> Result<Registration, Failure> {
        loop {
            if let Some(result) = py.detach(|| self.state().turn()) {
                return result;
            }
            // Ctrl-C reaches the program only if Python checks for signals on its main thread.
            py.check_signals().map_err(|error| {
                self.close(py);
                Failure::Python(error)
            })?;
        }
    }

    /// Stops all registrations and waits until their threads have ended.
    fn close(&self, py: Python) {
        self.stop.store(true, Ordering::Relaxed);
        py.detach(|| {
            let (arrived, thread) = {
                let mut state = self.state();
                (state.arrived.take(), state.thread.take())
            };
            // Closes the channel through which the registration threads send their results. They then no longer wait
            // for the caller to take these results.
            drop(arrived);
            thread.map(JoinHandle::join);
        });
    }

    /// Returns and forgets the messages about devices (ready, or not used and why) since the last call of this
    /// function.
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Many {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        // The registration threads check this stop flag often and end soon. This function does not wait for them.
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl State {
    /// Waits a short time for the result of the next moving image; `None` if this result is not ready yet.
    fn turn(&mut self) -> Option<Result<Registration, Failure>> {
        let end = || Some(Err(Failure::Python(PyStopIteration::new_err(()))));
        if self.next == self.count {
            return end();
        }
        if let Some(result) = self.early.remove(&self.next) {
            self.next += 1;
            return Some(result);
        }
        match self.arrived.as_ref()?.recv_timeout(PAUSE) {
            Ok(Ok((number, result))) => {
                self.early.insert(number, result);
                None
            }
            Ok(Err(error)) => {
                self.next = self.count;
                Some(Err(error))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.next = self.count;
                end()
            }
        }
    }
}

/// Registers all moving images and sends each result when it is finished. Runs on its own thread.
fn run_all(task: &Task, send: &Sender<Arrived>) {
    // The first moving images are read while devices are opened and the fixed image is prepared.
    let done = std::thread::scope(|scope| {
        let early = |number| {
            let (read, early) = bounded(1);
            let work = move || {
                // The moving image is sent to the thread that registers it. Sending fails if no device can be opened;
                // then the image is not needed.
                let _ = read.send(task.read(number));
            };
            // If no thread can be started, the moving image is read later, when its registration begins.
            std::thread::Builder::new().name("reading".into()).spawn_scoped(scope, work).ok().map(|_| early)
        };
        let early: Vec<_> = (0..task.count.min(USUAL_WORKERS)).map_while(early).collect();
        run(task, &early, send)
    });
    if let Err(error) = done {
        // The error is sent to the iterator that returns the results. This fails if the caller has deleted the
        // iterator; then the error is not needed.
        let _ = send.send(Err(error));
    }
}

fn run(task: &Task, early: &[Receiver<Result<Side, Failure>>], send: &Sender<Arrived>) -> Result<(), Failure> {
    let masked = task.fixed.side.mask.is_some();
    let (devices, note) = task.devices.for_window(task.options.too_wide_for_gpu(masked));
    note.iter().for_each(|note| task.note(note));
    // Estimate of the GPU memory needed. The moving images have not been read yet, so they are assumed to be as large
    // as the fixed image. A GPU holds three images: the fixed image, the moving image, and the next moving image.
    let needed = || {
        let (side, options) = (&task.fixed.side, &task.options);
        let grids = Grids::of([side, side]);
        let images = 3 * side.image_bytes();
        Ok::<_, antsreg_pool::Error>(options.device_bytes(&grids) + options.prepared_device_bytes(&grids) + images)
    };
    // The devices that are reserved for these registrations. The reservations end when all registrations have ended.
    let kept: Arc<Mutex<Vec<Lease>>> = Arc::default();
    let open = {
        let kept = kept.clone();
        move |choice| {
            let opened = devices::open(choice)?;
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(Lease::of(&opened.device));
            Ok::<_, register::Error>(opened)
        }
    };
    let mut workers = DeviceWorkers::new(antsreg_pool::open_by(&devices, task.workers, open.clone())?, needed)?;
    let computes_on = workers.one().description().choice();
    let alone = matches!(devices, Devices::One(DeviceChoice::Cuda(_)));
    if matches!(computes_on, DeviceChoice::Cuda(_)) && register::gpus().is_ok_and(|gpus| gpus.len() == 1 || alone) {
        let _ = task.upload.set(open(computes_on)?.device);
    }
    let told = workers.notes();
    let fixed = match task.upload.get() {
        Some(device) => task.fixed.side.on(device)?,
        None => task.fixed.side.clone(),
    };
    let target = Target::new(fixed, (*task.options).clone());
    let threads = StageThreads::for_workers(workers.workers().max(1));
    workers.prepare(&target);
    workers.last().run(
        (0..task.count).collect(),
        threads,
        |number| (number, task.load(number, early)),
        |worker, (number, ready)| (number, ready.and_then(|ready| task.compute(worker, &target, ready))),
        |(number, computed)| {
            let finish = |(ready, computed, device): (Ready, _, _)| ready.finish(computed, device);
            (number, computed.and_then(finish))
        },
        |(number, result)| {
            told.try_iter().for_each(|note| task.note(&note));
            if send.send(Ok((number, result))).is_err() {
                task.stop.store(true, Ordering::Relaxed);
            }
        },
    )?;
    Ok(())
}

impl Task {
    fn note(&self, note: &DeviceNote) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note.to_string());
    }

    /// Calls the Python function that returns the moving image with this number, with its channels and masks.
    fn read(&self, number: usize) -> Result<Side, Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(register::Error::Stopped.into());
        }
        let moving = Python::attach(|py| {
            let side = self.load.call1(py, (number,))?;
            Ok::<Side, PyErr>(side.bind(py).cast::<Side>()?.get().clone())
        });
        moving.map_err(Failure::Python)
    }

    /// Returns the moving image with this number, with its channels and masks, after a check that they suit the fixed
    /// image. They are uploaded to the GPU if a single GPU is used.
    fn load(&self, number: usize, early: &[Receiver<Result<Side, Failure>>]) -> Result<Ready, Failure> {
        let read = early.get(number).and_then(|early| early.recv().ok());
        let mut moving = read.unwrap_or_else(|| self.read(number))?;
        if let Some(device) = self.upload.get() {
            moving.side = moving.side.on(device)?;
        }
        Ready::new([&self.fixed, &moving], self.options.clone(), &self.from)
    }

    fn compute(
        &self,
        worker: &mut Worker,
        target: &Arc<Target>,
        ready: Ready,
    ) -> Result<(Ready, register::Computed, Description), Failure> {
        let mut watcher = Watcher::new(None, self.stop.clone());
        let computed = worker.register(target, ready.inputs.sides()[1], &mut watcher, |found| found.download());
        let computed = computed.map_err(|error| ready.blame(watcher.failure(error)))?;
        Ok((ready, computed, worker.description().clone()))
    }
}
