//! Keeps devices open between the registrations of a Python process, because opening a GPU takes time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use antsreg_register::{
    self as register, Description, Device, DeviceChoice, DeviceNote, Grids, Opened, Options, Side,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, Failure};

/// All devices that this process has opened.
#[derive(Default)]
struct Devices {
    /// The device that the setting `auto` chose; `None` before `auto` was first requested.
    auto: Option<DeviceChoice>,
    /// One handle of each opened device, from which handles for further registrations are made.
    opened: Vec<Device>,
    /// Handles of opened devices (CPU or GPUs) on which no registration runs now.
    idle: Vec<Device>,
}

static DEVICES: Mutex<Devices> = Mutex::new(Devices { auto: None, opened: Vec::new(), idle: Vec::new() });

fn lock() -> MutexGuard<'static, Devices> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device reserved for one registration. On drop the device becomes available for the next registration.
pub struct Lease {
    /// The device.
    pub device: Device,
    /// Why `auto` chose the CPU instead of a GPU, for a message; `None` if there is nothing to report.
    pub note: Option<DeviceNote>,
}

impl Lease {
    /// Makes the reservation of a device (CPU or GPU) for one registration, from the handle that [`open`] has returned.
    pub fn of(device: &Device) -> Lease {
        Lease { device: device.clone(), note: None }
    }

    /// Reserves the GPU with this number, in order to copy data to it.
    ///
    /// # Errors
    /// If the GPU cannot be used.
    pub fn of_gpu(number: usize) -> Result<Lease, Failure> {
        let Opened { device, .. } = open(DeviceChoice::Cuda(number))?;
        Ok(Lease::of(&device))
    }

    /// Reserves, for one registration, the device with this name, such as `auto` or `cuda:1`.
    ///
    /// # Errors
    /// If the device's name is unknown, or the device cannot be used.
    pub fn open(asked: &str) -> Result<Lease, Failure> {
        let opened = open(choice(asked)?)?;
        let note = opened.note().filter(|note| matches!(note, DeviceNote::CpuBecause(_)));
        Ok(Lease { device: opened.device, note })
    }

    /// Reserves a device that supports these options and grids and has enough free memory, including the memory for the
    /// images that are copied to the device (`uploaded`). `asked` is the name by which the caller chooses the device,
    /// such as `auto` or `cuda:1`.
    ///
    /// # Errors
    /// If the device's name is unknown, or the device cannot be used or has too little memory.
    pub fn take(asked: &str, options: &Options, grids: &Grids, uploaded: &[&Side]) -> Result<Lease, Failure> {
        let asked = choice(asked)?;
        let fitted = open(asked)?.fit(asked, options, grids, uploaded)?;
        options.check_device(&fitted.device, grids)?;
        fitted.check_memory()?;
        Ok(Lease { note: fitted.note(), device: fitted.device })
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

/// Returns a handle of a device on which nothing else runs: an idle handle, a further handle of an opened device, or a
/// newly opened device.
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

/// Closes the idle devices, and returns the GPU memory that is kept for later registrations to the system.
#[pyfunction]
pub fn release_devices(py: Python) -> Result<(), Failure> {
    crate::process::compute(py, || {
        let Devices { opened, idle, .. } = std::mem::take(&mut *lock());
        drop(idle);
        Ok(opened.iter().try_for_each(Device::release_kept_memory)?)
    })
}

/// Lists the devices of this machine for Python: the CPU, then every GPU that can be used.
#[pyfunction]
pub fn devices(py: Python<'_>) -> Result<Vec<Bound<'_, PyDict>>, Failure> {
    let gpus = py.detach(register::gpus).unwrap_or_default();
    let all = std::iter::once(Description::Cpu).chain(gpus);
    all.map(|device| as_dict(py, &device).map_err(Failure::Python)).collect()
}

/// The reason why no GPU can be used; `None` if a GPU can be used.
#[pyfunction]
pub fn why_no_gpu(py: Python) -> Option<String> {
    py.detach(register::gpus).err().map(|reason| reason.to_string())
}

/// A Python dictionary that describes a device: its name for `device=`, and for a GPU also model, compute capability,
/// driver version and memory in bytes.
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
