//! Modules: kernels that are compiled together. All names are looked up when a module is loaded.

use std::sync::{Arc, OnceLock};

use cust::module::Module;
use cust::sys;

use super::code::Code;
use super::device::{Device, check, driver_error};
use crate::Error;

/// A kernel of a loaded module.
pub struct Kernel {
    pub(super) name: &'static str,
    function: sys::CUfunction,
    /// Number of blocks that fit on a multiprocessor, by their number of warps.
    resident: [OnceLock<usize>; 33],
}

// SAFETY: a driver handle, valid from any thread while its module is loaded.
unsafe impl Send for Kernel {}
// SAFETY: a driver handle, valid from any thread while its module is loaded.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
    }

    /// Number of blocks of this many threads (whole warps) that fit on a multiprocessor, at least one.
    pub(super) fn resident_blocks(&self, threads: u32) -> Result<usize, Error> {
        let known = self.resident.get(threads as usize / 32);
        if let Some(blocks) = known.and_then(OnceLock::get) {
            return Ok(*blocks);
        }
        let blocks = self.resident_with_shared(threads, 0)?;
        Ok(known.map_or(blocks, |known| *known.get_or_init(|| blocks)))
    }

    /// As [`Kernel::resident_blocks`], with this many bytes of shared memory per block in addition to the kernel's
    /// own.
    pub(super) fn resident_with_shared(&self, threads: u32, shared: usize) -> Result<usize, Error> {
        let mut blocks = 0;
        // SAFETY: `blocks` is valid for writing, the function belongs to a loaded module.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads as i32, shared)
        };
        check(self.name, result)?;
        Ok(blocks.max(1) as usize)
    }
}

/// Kernels compiled together. They are unloaded before their device is dropped.
pub(super) struct Loaded {
    module: Option<Module>,
    device: Arc<Device>,
}

impl Loaded {
    /// Loads the machine code if there is any for this chip and the driver accepts its format, otherwise the PTX.
    pub(super) fn new(code: &Code, device: &Arc<Device>) -> Result<Loaded, Error> {
        device.bind(code.name)?;
        let machine_code = device.takes_machine_code.then(|| code.cubin.bytes()).transpose()?;
        let ready = machine_code.and_then(|bytes| Module::from_cubin(bytes, &[]).ok());
        let module = match ready {
            Some(module) => module,
            None => {
                Module::from_ptx(code.ptx_without_others()?, &[]).map_err(|error| driver_error(code.name, error))?
            }
        };
        Ok(Loaded { module: Some(module), device: device.clone() })
    }

    pub(super) fn kernel(&self, name: &'static str) -> Result<Kernel, Error> {
        let function = self.module.iter().find_map(|module| module.get_function(name).ok());
        let function = function.ok_or(Error::MissingKernel { kernel: name })?;
        Ok(Kernel { name, function: function.to_raw(), resident: [const { OnceLock::new() }; 33] })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Unloading needs the context; without the context, the module no longer exists.
        if self.device.synchronize("unload").is_err() {
            std::mem::forget(self.module.take());
        }
    }
}

/// A kernel that is loaded alone.
pub(super) struct Alone {
    pub(super) kernel: Kernel,
    _loaded: Loaded,
}

impl Alone {
    /// Loads the kernel with this number in the file.
    pub(super) fn load(code: &Code, number: usize, device: &Arc<Device>) -> Result<Alone, Error> {
        let name = code.kernels[number];
        let loaded = Loaded::new(&Code { kernels: &code.kernels[number..=number], ..*code }, device)?;
        Ok(Alone { kernel: loaded.kernel(name)?, _loaded: loaded })
    }
}

/// The value of a cell, computed if the cell is empty. If two threads compute it, one value is kept.
pub(super) fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
