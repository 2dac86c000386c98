//! Number of threads for computation, and the start of their thread pool.

use rustix::process::{Resource, getrlimit};

use crate::error::CliError;

/// Smallest stack with which the program starts, bytes. Reading a command line overflows a stack of 64 kB, and not one of
/// 128 kB.
const LEAST_STACK: u64 = 256 << 10;

/// Number of cores that this process may use.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Checks that the stack of this process is large enough for the program.
///
/// # Errors
/// A limit (`ulimit -s`) below 256 kB.
pub fn check_stack() -> Result<(), CliError> {
    match getrlimit(Resource::Stack).current {
        Some(bytes) if bytes < LEAST_STACK => Err(CliError::Stack { bytes, least: LEAST_STACK }),
        _ => Ok(()),
    }
}

/// Starts the only pool of threads for computation. The calling thread waits while the pool works, so that at most
/// `threads` threads compute. Must be called once per process.
///
/// # Errors
/// The system cannot start this many threads.
pub fn start(threads: usize) -> Result<(), CliError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(CliError::Threads)
}
