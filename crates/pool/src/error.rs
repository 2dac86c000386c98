//! Errors of the pool of workers: threads that cannot be started, and devices that cannot be used.

/// An error of the pool: threads cannot be started, or a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system cannot start another thread: a limit on processes or memory is reached.
    #[error("no thread could be started for {purpose}: {source}")]
    Thread {
        /// The work of the thread that could not be started, in words, for the error message.
        purpose: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A pool of threads could not be started.
    #[error("no threads could be started for {purpose}: {source}")]
    Threads {
        /// The work of the threads that could not be started, in words, for the error message.
        purpose: &'static str,
        /// The error of the thread pool.
        source: rayon::ThreadPoolBuildError,
    },
    /// A device could not be used.
    #[error(transparent)]
    Register(#[from] antsreg_register::Error),
}
