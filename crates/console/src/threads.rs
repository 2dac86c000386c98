//! Threads that compute.

use crate::error::CliError;

/// Cores that this process may use.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Starts the one pool in which all work runs. The calling thread waits meanwhile, so that no more than `threads` compute. To
/// be called once by a process.
///
/// # Errors
/// The system cannot start this many threads.
pub fn start(threads: usize) -> Result<(), CliError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(CliError::Threads)
}
