//! The process that uses the package: number of threads, and a check for forks.

use std::sync::OnceLock;

use antsreg_register::Device;
use pyo3::prelude::*;

use crate::error::{Class, Failure};

/// Process number (PID) of the first process that used the library.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Checks that this process was not forked after the library had been used. Every function that computes must call this
/// first.
///
/// # Errors
/// If the process was forked: it lacks the library's threads and cannot use the GPU.
pub fn enter() -> Result<(), Failure> {
    let now = std::process::id();
    match *PROCESS.get_or_init(|| now) == now {
        true => Ok(()),
        false => Err(Failure::own(
            Class::Forked,
            "this process was forked after antsreg_gpu had been used, so it cannot use the threads and devices; start \
             processes by multiprocessing's \"spawn\" or \"forkserver\", or fork before the first use",
        )),
    }
}

/// Runs `work` while other Python threads can run: the interpreter's lock is released.
///
/// # Errors
/// Those of [`enter`] and of `work`.
pub fn compute<T: Send>(py: Python, work: impl Send + FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    enter()?;
    // Other libraries of the Python program may use CUDA on this thread, so the thread's current CUDA context is
    // restored.
    py.detach(|| Device::keeping_the_threads(work))
}

/// Number of computing threads. The results of registrations do not depend on it.
#[pyfunction]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Sets the number of computing threads. Must be called before anything is computed.
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
