//! The process: its threads, and the state after a fork.

use std::sync::OnceLock;

use antsreg_register::Device;
use pyo3::prelude::*;

use crate::error::{Class, Failure};

/// Number of the process whose threads compute.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Checks that the threads of this library belong to this process. Every function that computes must call this first.
///
/// # Errors
/// The process was forked after the library had been used: the child lacks the threads, and cannot use the GPU.
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

/// Runs a computation with the interpreter's lock released.
///
/// # Errors
/// That of [`enter`], and those of the work.
pub fn compute<T: Send>(py: Python, work: impl Send + FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    enter()?;
    // The thread may belong to a program that also uses the driver, so its current context is kept.
    py.detach(|| Device::keeping_the_threads(work))
}

/// Number of threads that compute. The results do not depend on it.
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
