//! Many moving sides to one fixed side: read, computed and finished at the same time, on the workers of all devices.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use antsreg_pool::{DeviceNote, DeviceWorkers, Devices, StageThreads, Target, Worker};
use antsreg_register::{self as register, Description, Device, DeviceChoice, Grids, Options};
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

/// From one look at the signals to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// Workers of a GPU unless their number is given. As many moving sides are read before the devices are ready, and as many
/// results wait until they are taken.
const USUAL_WORKERS: usize = 4;

/// What comes from the workers: the result of a number, or why no further one comes.
type Arrived = Result<(usize, Result<Registration, Failure>), Failure>;

/// The results of many registrations, in the order of their moving sides.
#[pyclass(frozen, module = "antsreg_gpu._native")]
pub struct Many {
    state: Mutex<State>,
    stop: Arc<AtomicBool>,
    notes: Arc<Mutex<Vec<String>>>,
}

struct State {
    arrived: Option<Receiver<Arrived>>,
    /// Results that came before their turn.
    early: HashMap<usize, Result<Registration, Failure>>,
    next: usize,
    count: usize,
    thread: Option<JoinHandle<()>>,
}

/// What all registrations share.
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
    /// The only device, to upload images while its workers compute.
    upload: OnceLock<Device>,
}

#[pymethods]
impl Many {
    /// Starts to register. `load` gives the moving side of a number; it is called from other threads.
    #[new]
    #[pyo3(signature = (fixed, plan, devices, workers, count, load, start, matrix=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each argument of Python's function")]
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
        // So few are finished and not yet taken.
        let (send, arrived) = bounded(workers.unwrap_or(USUAL_WORKERS));
        let thread = std::thread::Builder::new().name("register_many".into()).spawn(move || run_all(&task, &send));
        let thread = thread.map_err(|error| Failure::own(Class::Device, format!("a thread: {error}")))?;
        let state = State { arrived: Some(arrived), early: HashMap::new(), next: 0, count, thread: Some(thread) };
        Ok(Many { state: Mutex::new(state), stop, notes })
    }

    fn __iter__(slf: PyRef<Self>) -> PyRef<Self> {
        slf
    }

    /// The next result, in the order of the moving sides.
    fn __next__(&self, py: Python) -> Result<Registration, Failure> {
        loop {
            if let Some(result) = py.detach(|| self.state().turn()) {
                return result;
            }
            // Python handles signals on its main thread.
            py.check_signals().map_err(|error| {
                self.close(py);
                Failure::Python(error)
            })?;
        }
    }

    /// Stops what is under way, and waits for its end.
    fn close(&self, py: Python) {
        self.stop.store(true, Ordering::Relaxed);
        py.detach(|| {
            let (arrived, thread) = {
                let mut state = self.state();
                (state.arrived.take(), state.thread.take())
            };
            // Without a receiver nothing waits to be taken.
            drop(arrived);
            thread.map(JoinHandle::join);
        });
    }

    /// Notes about devices that have come since the last call.
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
        // The threads end by themselves, soon.
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl State {
    /// The result whose turn it is, if it comes soon.
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

/// Registers all, and sends each result as it comes.
fn run_all(task: &Task, send: &Sender<Arrived>) {
    // The first moving sides are read while devices are opened and the fixed side is prepared.
    let done = std::thread::scope(|scope| {
        let early = |number| {
            let (read, early) = bounded(1);
            let work = move || {
                // Nobody waits for the side if the devices cannot be opened.
                let _ = read.send(task.read(number));
            };
            // Without a further thread the side is read when its turn comes.
            std::thread::Builder::new().name("reading".into()).spawn_scoped(scope, work).ok().map(|_| early)
        };
        let early: Vec<_> = (0..task.count.min(USUAL_WORKERS)).map_while(early).collect();
        run(task, &early, send)
    });
    if let Err(error) = done {
        // Sending fails if the receiver has been dropped; then the result is not needed.
        let _ = send.send(Err(error));
    }
}

fn run(task: &Task, early: &[Receiver<Result<Side, Failure>>], send: &Sender<Arrived>) -> Result<(), Failure> {
    let masked = task.fixed.side.mask.is_some();
    let devices = match task.options.too_wide_for_gpu(masked).filter(|_| task.devices == Devices::default()) {
        Some(reason) => {
            task.note(format!("device: cpu, because {reason}"));
            Devices::One(DeviceChoice::Cpu)
        }
        None => task.devices.clone(),
    };
    // The moving images are not read yet; most are about as large as the fixed one. On the device are the fixed image, the
    // moving image, and the next one.
    let needed = || {
        let (side, options) = (&task.fixed.side, &task.options);
        let grids = Grids::of([side, side]);
        let images = 3 * side.image_bytes();
        Ok::<_, antsreg_pool::Error>(options.device_bytes(&grids) + options.prepared_device_bytes(&grids) + images)
    };
    // The devices that are kept from earlier calls, for as long as this one lasts.
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
            told.try_iter().for_each(|note| task.note(words(&note)));
            if send.send(Ok((number, result))).is_err() {
                task.stop.store(true, Ordering::Relaxed);
            }
        },
    )?;
    Ok(())
}

impl Task {
    fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// The moving side of a number as Python gives it.
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

    /// The moving side of a number, on the device where it is uploaded ahead, checked with the fixed one.
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
        let computed = worker.register(target, ready.inputs.sides()[1], &mut watcher);
        let computed = computed.map_err(|error| ready.blame(watcher.failure(error)))?;
        Ok((ready, computed, worker.description().clone()))
    }
}

/// A note about a device in words.
fn words(note: &DeviceNote) -> String {
    match note {
        DeviceNote::Ready(device, seconds) => format!("device: {device}, ready in {seconds:.2} s"),
        DeviceNote::CpuBecause(reason) => format!("device: cpu, because {reason}"),
        DeviceNote::LeftOut { reason, cpu_instead: true } => format!("{reason}; auto takes the CPU"),
        DeviceNote::LeftOut { reason, cpu_instead: false } => format!("{reason}; auto leaves it out"),
    }
}
