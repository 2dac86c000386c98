//! Modules: kernels that the driver loads together. All kernels of a module are looked up by name when it is loaded.

use std::sync::{Arc, OnceLock};

use cust::module::Module;
use cust::sys;

use super::code::Code;
use super::device::Device;
use super::driver::{check, driver_error};
use crate::Error;

/// A kernel of a loaded module.
pub struct Kernel {
    pub(super) name: &'static str,
    function: sys::CUfunction,
    /// Whether the kernel may start before the previous kernel of the stream has ended. Its first instructions then wait
    /// for the previous one. True for machine code, to which `tools/ptx` adds this wait.
    pub(super) may_begin_early: bool,
    /// Number of thread blocks of this kernel that fit on a multiprocessor, for each number of warps of a block.
    resident: [OnceLock<usize>; 33],
}

// SAFETY: the driver allows any thread to use the handle of a kernel while the kernel's module is loaded.
unsafe impl Send for Kernel {}
// SAFETY: the driver allows any thread to use the handle of a kernel while the kernel's module is loaded.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
    }

    /// Number of this kernel's blocks, of `threads` threads each (whole warps), that fit on a multiprocessor; at least
    /// one.
    pub(super) fn resident_blocks(&self, threads: u32) -> Result<usize, Error> {
        let known = self.resident.get(threads as usize / 32);
        if let Some(blocks) = known.and_then(OnceLock::get) {
            return Ok(*blocks);
        }
        let blocks = self.resident_with_shared(threads, 0)?;
        Ok(known.map_or(blocks, |known| *known.get_or_init(|| blocks)))
    }

    /// Like [`Kernel::resident_blocks`], for blocks with this many bytes of shared memory in addition to the kernel's
    /// static shared memory.
    pub(super) fn resident_with_shared(&self, threads: u32, shared: usize) -> Result<usize, Error> {
        let mut blocks = 0;
        // SAFETY: `blocks` is a local variable, to which the driver writes. The kernel belongs to a loaded module.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads as i32, shared)
        };
        check(self.name, result)?;
        Ok(blocks.max(1) as usize)
    }
}

/// The kernels of one compiled source file. They are unloaded before their device is dropped.
pub(super) struct Loaded {
    module: Option<Module>,
    is_machine_code: bool,
    device: Arc<Device>,
}

impl Loaded {
    /// Loads the kernels of a source file: its machine code if there is any for this chip and the driver accepts its
    /// format, otherwise its PTX.
    pub(super) fn new(code: &Code, device: &Arc<Device>) -> Result<Loaded, Error> {
        device.bind(code.name)?;
        let machine_code = device.takes_machine_code.then(|| code.cubin.bytes()).transpose()?;
        let ready = machine_code.and_then(|bytes| Module::from_cubin(bytes, &[]).ok());
        let is_machine_code = ready.is_some();
        let module = match ready {
            Some(module) => module,
            None => {
                Module::from_ptx(code.ptx_without_others()?, &[]).map_err(|error| driver_error(code.name, error))?
            }
        };
        Ok(Loaded { module: Some(module), is_machine_code, device: device.clone() })
    }

    pub(super) fn kernel(&self, name: &'static str) -> Result<Kernel, Error> {
        let function = self.module.iter().find_map(|module| module.get_function(name).ok());
        let function = function.ok_or(Error::MissingKernel { kernel: name })?;
        Ok(Kernel {
            name,
            function: function.to_raw(),
            may_begin_early: self.is_machine_code,
            resident: [const { OnceLock::new() }; 33],
        })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // The driver needs the device's context to unload a module. If the context no longer exists, the driver has
        // already unloaded its modules.
        if self.device.synchronize("unload").is_err() {
            std::mem::forget(self.module.take());
        }
    }
}

/// A single kernel that is loaded without the other kernels of its source file.
pub(super) struct Alone {
    pub(super) kernel: Kernel,
    _loaded: Loaded,
}

impl Alone {
    /// Loads one kernel of a source file: the kernel with this number in the file's list.
    pub(super) fn load(code: &Code, number: usize, device: &Arc<Device>) -> Result<Alone, Error> {
        let name = code.kernels[number];
        let loaded = Loaded::new(&Code { kernels: &code.kernels[number..=number], ..*code }, device)?;
        Ok(Alone { kernel: loaded.kernel(name)?, _loaded: loaded })
    }
}

/// Returns the value of `cell`, which is set only once. If `cell` is empty, `make` computes the value. If two threads
/// compute it at the same time, `cell` keeps one of the two values.
pub(super) fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
