//! The process: its threads, and what a fork leaves of them.

use std::sync::OnceLock;

use antsreg_register::Device;
use pyo3::prelude::*;

use crate::error::{Class, Failure};

/// The process whose threads compute.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Makes sure that the threads of this library are those of this process. To be called by everything that computes.
///
/// # Errors
/// In a process that was forked after the library had been used: the threads, and what belongs to a GPU, stayed behind.
pub fn enter() -> Result<(), Failure> {
    let now = std::process::id();
    match *PROCESS.get_or_init(|| now) == now {
        true => Ok(()),
        false => Err(Failure::own(
            Class::Forked,
            "this process was forked after antsreg_gpu had been used, and has none of its threads and devices; start \
             processes by multiprocessing's \"spawn\" or \"forkserver\", or fork before the first use",
        )),
    }
}

/// Computes with the lock of the interpreter released.
///
/// # Errors
/// That of [`enter`], and those of the work.
pub fn compute<T: Send>(py: Python, work: impl Send + FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    enter()?;
    // The thread may belong to a program that uses the driver as well.
    py.detach(|| Device::keeping_the_threads(work))
}

/// Threads that compute. No result depends on their number.
#[pyfunction]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Sets the number of threads that compute, before anything is computed.
#[pyfunction]
pub fn set_threads(count: usize) -> Result<(), Failure> {
    enter()?;
    if count == 0 {
        return Err(Failure::own(Class::Option, "threads: expected at least 1, found 0"));
    }
    rayon::ThreadPoolBuilder::new().num_threads(count).build_global().map_err(|error| {
        Failure::own(Class::Option, format!("threads: {error}; set the number before anything is computed"))
    })
}
