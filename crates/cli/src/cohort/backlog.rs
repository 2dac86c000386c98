//! Work that nobody waits for, such as writing files: done in the background while the next things are computed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Aside;
use crate::error::CliError;

type Task<'a> = Box<dyn FnOnce() -> Result<(), CliError> + Send + 'a>;

/// Tasks in the order in which they came. Those between two that wait for all before them are done in any order.
pub struct Backlog<'a> {
    state: Mutex<State<'a>>,
    change: Condvar,
    /// The most tasks that wait.
    room: usize,
    aside: Aside,
}

#[derive(Default)]
struct State<'a> {
    waiting: VecDeque<Entry<'a>>,
    running: usize,
    failed: Option<CliError>,
    closed: bool,
}

struct Entry<'a> {
    task: Task<'a>,
    /// Whether it begins only when all before it are done, and all after it wait for it.
    alone: bool,
}

impl<'a> Backlog<'a> {
    /// Runs `work` with a backlog done `aside`, so many tasks at a time; at most `room` tasks wait: who would add more waits
    /// himself. All tasks are done at the end, also where `work` fails; a task's failure is told before that of `work`.
    pub fn with<T>(
        threads: usize,
        room: usize,
        aside: Aside,
        work: impl FnOnce(&Backlog<'a>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let backlog = Backlog { state: Mutex::default(), change: Condvar::new(), room, aside };
        let result = std::thread::scope(|scope| {
            // Closed also where `work` panics: else the threads would wait for ever.
            let closing = Closing(&backlog);
            for _ in 0..threads.max(1) {
                scope.spawn(|| backlog.work());
            }
            let result = work(&backlog);
            drop(closing);
            result
        });
        // A task's failure comes first: what depended on its files fails because of it.
        match backlog.state().failed.take() {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Where its tasks are done, for other work that is as long as they are.
    pub fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Adds a task.
    pub fn push(&self, task: impl FnOnce() -> Result<(), CliError> + Send + 'a) {
        self.add(Entry { task: Box::new(task), alone: false });
    }

    /// Adds a task that is done after all before it and before all after it.
    pub fn push_alone(&self, task: impl FnOnce() -> Result<(), CliError> + Send + 'a) {
        self.add(Entry { task: Box::new(task), alone: true });
    }

    /// Waits until nothing is left to do. Fails if a task has failed.
    pub fn settle(&self) -> Result<(), CliError> {
        let idle = self.change.wait_while(self.state(), |state| !state.waiting.is_empty() || state.running > 0);
        let mut state = idle.unwrap_or_else(PoisonError::into_inner);
        state.failed.take().map_or(Ok(()), Err)
    }

    /// Fails if a task has failed.
    pub fn check(&self) -> Result<(), CliError> {
        self.state().failed.take().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, entry: Entry<'a>) {
        let full = self.change.wait_while(self.state(), |state| state.waiting.len() >= self.room);
        full.unwrap_or_else(PoisonError::into_inner).waiting.push_back(entry);
        self.change.notify_all();
    }

    fn work(&self) {
        loop {
            let blocked = self.change.wait_while(self.state(), |state| !state.may_begin() && !state.is_over());
            let mut state = blocked.unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = state.begin() else { return };
            drop(state);
            self.change.notify_all();
            let running = Running { backlog: self, alone: entry.alone };
            let done = self.aside.run(entry.task);
            if let Err(error) = done {
                self.state().failed.get_or_insert(error);
            }
            drop(running);
        }
    }
}

/// Tasks that run count as so many, so that none begins beside one that is to be alone.
const ALONE: usize = usize::MAX / 2;

impl<'a> State<'a> {
    fn may_begin(&self) -> bool {
        self.waiting.front().is_some_and(|entry| if entry.alone { self.running == 0 } else { self.running < ALONE })
    }

    fn is_over(&self) -> bool {
        self.closed && self.waiting.is_empty()
    }

    fn begin(&mut self) -> Option<Entry<'a>> {
        let entry = self.waiting.pop_front()?;
        self.running += if entry.alone { ALONE } else { 1 };
        Some(entry)
    }
}

/// Takes a task off the count, also when it panics.
struct Running<'b, 'a> {
    backlog: &'b Backlog<'a>,
    alone: bool,
}

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        self.backlog.state().running -= if self.alone { ALONE } else { 1 };
        self.backlog.change.notify_all();
    }
}

struct Closing<'b, 'a>(&'b Backlog<'a>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.change.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::UsageError;

    fn failure(name: &str) -> CliError {
        UsageError::OverInput(name.into()).into()
    }

    #[test]
    fn one_that_is_alone_comes_between() {
        let (before, between, after) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (before, between, after) = (&before, &between, &after);
        Backlog::with(4, 100, Aside::default(), |backlog| {
            for _ in 0..20 {
                backlog.push(move || {
                    std::thread::sleep(std::time::Duration::from_micros(300));
                    assert_eq!(between.load(Ordering::SeqCst), 0);
                    before.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
            }
            backlog.push_alone(move || {
                assert_eq!((before.load(Ordering::SeqCst), after.load(Ordering::SeqCst)), (20, 0));
                std::thread::sleep(std::time::Duration::from_millis(2));
                between.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            for _ in 0..20 {
                backlog.push(move || {
                    assert_eq!(between.load(Ordering::SeqCst), 1);
                    after.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
            }
            backlog.settle()?;
            assert_eq!(after.load(Ordering::SeqCst), 20);
            Ok(())
        })
        .expect("nothing fails");
    }

    #[test]
    fn a_failure_comes_out_and_the_others_are_done() {
        let done = AtomicUsize::new(0);
        let result = Backlog::with(2, 3, Aside::default(), |backlog| {
            for n in 0..10 {
                let done = &done;
                backlog.push(move || {
                    done.fetch_add(1, Ordering::SeqCst);
                    if n == 4 { Err(failure("four")) } else { Ok(()) }
                });
            }
            Ok(())
        });
        assert!(result.expect_err("four failed").to_string().contains("four"));
        assert_eq!(done.into_inner(), 10);
        let result: Result<(), _> = Backlog::with(1, 1, Aside::default(), |_| Err(failure("work")));
        assert!(result.expect_err("it failed").to_string().contains("work"));
    }
}
