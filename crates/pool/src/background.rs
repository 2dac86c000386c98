//! Threads of their own for work that no GPU waits for.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Error;

/// Threads for long work such as compressing files.
///
/// In one rayon pool with that work, the short tasks of a worker on a GPU would wait behind it, and the GPU with them. On
/// the CPU all work shares the pool of the caller.
#[derive(Debug, Default)]
pub struct BackgroundThreads(Option<ThreadPool>);

impl BackgroundThreads {
    /// So many threads beside the caller's pool.
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn new(threads: usize) -> Result<BackgroundThreads, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|source| Error::Threads { purpose: "work in the background", source })?;
        Ok(BackgroundThreads(Some(pool)))
    }

    /// No threads of their own: work is done in the caller's pool.
    pub fn shared() -> BackgroundThreads {
        BackgroundThreads(None)
    }

    /// Does the work there and waits for it.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
