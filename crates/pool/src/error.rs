//! Errors of the threads of a pool.

/// The error if threads cannot be started or a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system cannot start another thread: a limit on processes or memory is reached.
    #[error("no thread could be started for {purpose}: {source}")]
    Thread {
        /// The purpose of the thread, for the message.
        purpose: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A pool of threads could not be started.
    #[error("no threads could be started for {purpose}: {source}")]
    Threads {
        /// The purpose of the threads, for the message.
        purpose: &'static str,
        /// The error of the thread pool.
        source: rayon::ThreadPoolBuildError,
    },
    /// A device could not be used.
    #[error(transparent)]
    Register(#[from] antsreg_register::Error),
}
