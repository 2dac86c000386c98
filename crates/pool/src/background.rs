//! Separate threads for long work such as the compression of output files, so that registrations on a GPU do not wait
//! for this work.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Error;

/// Threads for long work such as the compression of files.
///
/// On a GPU, this work has its own threads. If it shared a thread pool with the short tasks of a GPU's worker, these
/// tasks would wait behind the long work, and the GPU would be idle.
/// On the CPU all work shares the caller's thread pool.
#[derive(Debug, Default)]
pub struct BackgroundThreads(Option<ThreadPool>);

impl BackgroundThreads {
    /// Starts `threads` background threads in addition to the threads of the caller's thread pool.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(threads: usize) -> Result<BackgroundThreads, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|source| Error::Threads {
            purpose: "long work in the background, such as the compression of files",
            source,
        })?;
        Ok(BackgroundThreads(Some(pool)))
    }

    /// Makes a set of background threads that has no threads: long work such as the compression of files then runs in
    /// the caller's thread pool.
    pub fn shared() -> BackgroundThreads {
        BackgroundThreads(None)
    }

    /// Runs the function `work` on one of the background threads, waits for it, and returns its result.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
