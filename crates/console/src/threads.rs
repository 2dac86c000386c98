//! Number of threads for computation, and the start of their thread pool.

use crate::error::CliError;

/// Number of cores that this process may use.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Starts the only pool of threads for computation. The calling thread waits while the pool works, so that at most
/// `threads` threads compute. Must be called once per process.
///
/// # Errors
/// The system cannot start this many threads.
pub fn start(threads: usize) -> Result<(), CliError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(CliError::Threads)
}
