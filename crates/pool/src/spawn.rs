//! Starts threads. A thread that cannot be started is an error, never a panic.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use super::Error;

/// Starts the threads for reading, computing and writing. In tests, the number of threads can be limited.
#[derive(Debug, Default)]
pub struct Spawner {
    #[cfg(test)]
    left: Option<std::sync::atomic::AtomicUsize>,
}

impl Spawner {
    /// For tests: starts at most `threads` threads, and then fails as if a limit of the system were reached.
    #[cfg(test)]
    pub fn limited_to(threads: usize) -> Spawner {
        Spawner { left: Some(threads.into()) }
    }

    /// Starts a thread that ends before the given scope ends. `purpose` says in error messages what the thread is for.
    /// If the thread cannot be started, the function `work` is dropped without running.
    pub fn spawn<'scope, T: Send + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        purpose: &'static str,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> Result<ScopedJoinHandle<'scope, T>, Error> {
        let wrap = |source| Error::Thread { purpose, source };
        self.check().map_err(wrap)?;
        Builder::new().name(purpose.into()).spawn_scoped(scope, work).map_err(wrap)
    }

    #[cfg(not(test))]
    fn check(&self) -> std::io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn check(&self) -> std::io::Result<()> {
        use std::sync::atomic::Ordering::SeqCst;
        let Some(left) = &self.left else { return Ok(()) };
        let taken = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        taken.map(drop).map_err(|_| std::io::ErrorKind::WouldBlock.into())
    }
}

/// Starts a thread that may live longer than the caller's scope. `purpose` says in error messages what the thread is
/// for. If the thread cannot be started, the function `work` is dropped without running.
///
/// # Errors
/// If the system cannot start another thread.
pub fn in_background<T: Send + 'static>(
    purpose: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    Builder::new().name(purpose.into()).spawn(work).map_err(|source| Error::Thread { purpose, source })
}
