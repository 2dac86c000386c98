//! Threads of their own for work that no GPU waits for.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Engines;
use crate::error::CliError;

/// Where long work is done: in one pool with it, a worker's short tasks would wait behind, and its GPU with them. Beside the
/// processor, all work shares one pool.
#[derive(Default)]
pub struct Aside(Option<ThreadPool>);

impl Aside {
    /// So many threads, if the engines are GPUs.
    pub fn of(engines: &Engines, threads: usize) -> Result<Aside, CliError> {
        let pool = || ThreadPoolBuilder::new().num_threads(threads).build().map_err(CliError::Threads);
        Ok(Aside(engines.are_gpus().then(pool).transpose()?))
    }

    /// Does the work there.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
