//! Devices that are ready, kept from one registration to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use antsreg_register::{self as register, Description, Device, DeviceChoice, Fitted, Grids, Opened, Options, Side};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, Failure};

/// The devices of this process that were opened.
#[derive(Default)]
struct Devices {
    /// What `auto` stands for, once it was asked for.
    auto: Option<DeviceChoice>,
    /// Each device, for others to be made beside it.
    opened: Vec<Device>,
    /// Those that nothing runs on.
    idle: Vec<Device>,
}

static DEVICES: Mutex<Devices> = Mutex::new(Devices { auto: None, opened: Vec::new(), idle: Vec::new() });

fn lock() -> MutexGuard<'static, Devices> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device for one registration at a time. It is kept for the next one.
pub struct Lease {
    /// The device.
    pub device: Device,
    /// Why it is the CPU, though a GPU would have been taken; told once.
    pub instead_of_gpu: Option<String>,
}

impl Lease {
    /// A device that was opened by [`open`].
    pub fn of(device: &Device) -> Lease {
        Lease { device: device.clone(), instead_of_gpu: None }
    }

    /// The GPU with this number, to bring data to it.
    ///
    /// # Errors
    /// A GPU that cannot be used.
    pub fn of_gpu(number: usize) -> Result<Lease, Failure> {
        let Opened { device, .. } = open(DeviceChoice::Cuda(number))?;
        Ok(Lease::of(&device))
    }

    /// A device that suits these options and grids, and has room for the images of `uploaded`.
    ///
    /// # Errors
    /// A device that is unknown, cannot be used, or has too little memory.
    pub fn take(asked: &str, options: &Options, grids: &Grids, uploaded: &[&Side]) -> Result<Lease, Failure> {
        let asked = choice(asked)?;
        let fitted = open(asked)?.fit(asked, options, grids, uploaded)?;
        options.check_device(&fitted.device, grids)?;
        fitted.check_memory()?;
        let Fitted { device, instead_of_gpu, .. } = fitted;
        Ok(Lease { device, instead_of_gpu: instead_of_gpu.map(|reason| reason.to_string()) })
    }
}

fn choice(asked: &str) -> Result<DeviceChoice, Failure> {
    asked.parse().map_err(|error: register::UnknownDevice| Failure::own(Class::Option, format!("device: {error}")))
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock().idle.push(self.device.clone());
    }
}

/// A device that nothing else runs on.
pub fn open(asked: DeviceChoice) -> Result<Opened, register::Error> {
    let mut devices = lock();
    let wanted = match asked {
        DeviceChoice::Auto => devices.auto,
        choice => Some(choice),
    };
    let is_wanted = |device: &Device| Some(device.description().choice()) == wanted;
    let again = |device| Opened { device, seconds: None, instead_of_gpu: None };
    if let Some(place) = devices.idle.iter().position(is_wanted) {
        return Ok(again(devices.idle.swap_remove(place)));
    }
    if let Some(device) = devices.opened.iter().find(|device| is_wanted(device)) {
        return Ok(again(device.beside()?));
    }
    let opened = asked.open()?;
    if asked == DeviceChoice::Auto {
        devices.auto = Some(opened.device.description().choice());
    }
    devices.opened.push(opened.device.clone());
    Ok(opened)
}

/// Releases the devices that nothing runs on, with the memory of GPUs that is kept for the next registration.
#[pyfunction]
pub fn release_devices(py: Python) -> Result<(), Failure> {
    crate::process::compute(py, || {
        let Devices { opened, idle, .. } = std::mem::take(&mut *lock());
        drop(idle);
        Ok(opened.iter().try_for_each(Device::release_kept_memory)?)
    })
}

/// The devices of this machine: the CPU, then every GPU that can be used.
#[pyfunction]
pub fn devices(py: Python<'_>) -> Result<Vec<Bound<'_, PyDict>>, Failure> {
    let gpus = py.detach(register::gpus).unwrap_or_default();
    let all = std::iter::once(Description::Cpu).chain(gpus);
    all.map(|device| as_dict(py, &device).map_err(Failure::Python)).collect()
}

/// Why no GPU can be used, if that is so.
#[pyfunction]
pub fn why_no_gpu(py: Python) -> Option<String> {
    py.detach(register::gpus).err().map(|reason| reason.to_string())
}

/// A device in Python's terms.
pub fn as_dict<'py>(py: Python<'py>, device: &Description) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("device", device.choice().to_string())?;
    if let Description::Cuda { name, compute_capability, driver_cuda, memory_bytes, .. } = device {
        dict.set_item("name", name)?;
        dict.set_item("compute_capability", compute_capability)?;
        dict.set_item("driver_cuda", driver_cuda)?;
        dict.set_item("memory_bytes", memory_bytes)?;
    }
    Ok(dict)
}
