//! Work that nobody waits for, such as writing files: done in the background while the next things are computed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Aside;
use crate::error::CliError;

type Record<'a> = Box<dyn FnOnce() -> Result<(), CliError> + Send + 'a>;
type Task<'a> = Box<dyn FnOnce() -> Result<Record<'a>, CliError> + Send + 'a>;

/// Tasks that are done in any order. Each leaves something short to be recorded; records are made in the order in which
/// their tasks came, one after the other, so that each may rely on those before it.
pub struct Backlog<'a> {
    state: Mutex<State<'a>>,
    change: Condvar,
    /// The most tasks that wait.
    room: usize,
    aside: Aside,
}

#[derive(Default)]
struct State<'a> {
    waiting: VecDeque<(usize, Task<'a>)>,
    /// Tasks that came so far.
    came: usize,
    /// What tasks have left to be recorded, by their numbers; nothing where a task failed.
    records: BTreeMap<usize, Option<Record<'a>>>,
    /// Records made so far.
    recorded: usize,
    /// Whether one is being made.
    recording: bool,
    failed: Option<CliError>,
    /// Until when no task begins, if it holds.
    held: Option<Instant>,
    closed: bool,
}

/// Has no further task begin, until dropped.
pub struct Hold<'b, 'a>(&'b Backlog<'a>);

impl<'a> Backlog<'a> {
    /// Runs `work` with a backlog done `aside`, so many tasks at a time; at most `room` tasks wait: who would add more waits
    /// himself. All is done and recorded at the end, also where `work` fails; a task's failure is told before that of `work`.
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

    /// Has no further task begin for a moment in which the processor is needed for something else, and no longer than 0.2 s:
    /// what is not written yet would be lost if the program were killed. Nobody waits for room meanwhile.
    pub fn hold(&self) -> Hold<'_, 'a> {
        self.hold_for(Duration::from_millis(200))
    }

    fn hold_for(&self, longest: Duration) -> Hold<'_, 'a> {
        self.state().held = Some(Instant::now() + longest);
        Hold(self)
    }

    /// Adds a task.
    pub fn push<R>(&self, task: impl FnOnce() -> Result<R, CliError> + Send + 'a)
    where
        R: FnOnce() -> Result<(), CliError> + Send + 'a,
    {
        let is_full = |state: &mut State| state.waiting.len() >= self.room && state.held.is_none();
        let full = self.change.wait_while(self.state(), is_full);
        let mut state = full.unwrap_or_else(PoisonError::into_inner);
        let number = state.came;
        state.came += 1;
        state.waiting.push_back((number, Box::new(|| task().map(|record| Box::new(record) as Record<'a>))));
        drop(state);
        self.change.notify_all();
    }

    /// Waits until nothing is left to do. Fails if anything has failed.
    pub fn settle(&self) -> Result<(), CliError> {
        let idle = self.change.wait_while(self.state(), |state| state.recorded < state.came);
        let mut state = idle.unwrap_or_else(PoisonError::into_inner);
        state.failed.take().map_or(Ok(()), Err)
    }

    /// Fails if anything has failed.
    pub fn check(&self) -> Result<(), CliError> {
        self.state().failed.take().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let Some((number, task)) = self.next() else { return };
            self.change.notify_all();
            let mut running = Running { backlog: self, number, left: None };
            match self.aside.run(task) {
                Ok(record) => running.left = Some(record),
                Err(error) => self.fail(error),
            }
            drop(running);
            self.record();
        }
    }

    /// The next task, as soon as there is one that may begin; none once there will be no more.
    fn next(&self) -> Option<(usize, Task<'a>)> {
        let mut state = self.state();
        loop {
            let held =
                state.held.filter(|_| !state.closed).map(|until| until.saturating_duration_since(Instant::now()));
            state = match held {
                Some(left) if !left.is_zero() => {
                    self.change.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                _ if state.waiting.is_empty() && !state.closed => {
                    self.change.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                _ => return state.waiting.pop_front(),
            };
        }
    }

    fn fail(&self, error: CliError) {
        self.state().failed.get_or_insert(error);
    }

    /// Makes the records whose turn it is, unless someone does so already.
    fn record(&self) {
        loop {
            let mut state = self.state();
            let turn = state.recorded;
            if state.recording {
                return;
            }
            let Some(record) = state.records.remove(&turn) else { return };
            state.recording = true;
            drop(state);
            let recording = Recording(self);
            if let Some(Err(error)) = record.map(|record| record()) {
                self.fail(error);
            }
            drop(recording);
        }
    }
}

/// Has a task's record kept until its turn, nothing where the task panics.
struct Running<'b, 'a> {
    backlog: &'b Backlog<'a>,
    number: usize,
    left: Option<Record<'a>>,
}

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        let left = self.left.take();
        self.backlog.state().records.insert(self.number, left);
    }
}

/// Lets the next record be made, also where one panics.
struct Recording<'b, 'a>(&'b Backlog<'a>);

impl Drop for Recording<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.recording = false;
        state.recorded += 1;
        drop(state);
        self.0.change.notify_all();
    }
}

impl Drop for Hold<'_, '_> {
    fn drop(&mut self) {
        self.0.state().held = None;
        self.0.change.notify_all();
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
    fn records_come_in_order_however_long_their_tasks_take() {
        let (done, recorded) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let (done, recorded) = (&done, &recorded);
        Backlog::with(4, 100, Aside::default(), |backlog| {
            for number in 0..40 {
                backlog.push(move || {
                    // The first of four is the last to be done.
                    std::thread::sleep(Duration::from_micros(if number % 4 == 0 { 3000 } else { 100 }));
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok(move || {
                        recorded.lock().expect("no panic").push(number);
                        Ok(())
                    })
                });
            }
            backlog.settle()?;
            assert_eq!(done.load(Ordering::SeqCst), 40);
            Ok(())
        })
        .expect("nothing fails");
        assert_eq!(*recorded.lock().expect("no panic"), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_begins_while_it_holds() {
        let done = AtomicUsize::new(0);
        let done = &done;
        Backlog::with(2, 2, Aside::default(), |backlog| {
            let hold = backlog.hold_for(Duration::from_secs(3600));
            // More than there is room for.
            for _ in 0..5 {
                backlog.push(|| {
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok(|| Ok(()))
                });
            }
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(done.load(Ordering::SeqCst), 0);
            drop(hold);
            backlog.settle()?;
            assert_eq!(done.load(Ordering::SeqCst), 5);
            // It ends by itself as well.
            let _hold = backlog.hold_for(Duration::from_millis(1));
            backlog.push(|| Ok(|| Ok(())));
            backlog.settle()
        })
        .expect("nothing fails");
    }

    #[test]
    fn a_failure_comes_out_and_the_others_are_done() {
        let recorded = AtomicUsize::new(0);
        let result = Backlog::with(2, 3, Aside::default(), |backlog| {
            for number in 0..10 {
                let recorded = &recorded;
                backlog.push(move || {
                    let record = move || {
                        recorded.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    };
                    if number == 4 { Err(failure("four")) } else { Ok(record) }
                });
            }
            Ok(())
        });
        assert!(result.expect_err("four failed").to_string().contains("four"));
        assert_eq!(recorded.into_inner(), 9);
        let result = Backlog::with(1, 1, Aside::default(), |backlog| {
            backlog.push(|| Ok(|| Err(failure("record"))));
            backlog.settle()
        });
        assert!(result.expect_err("it failed").to_string().contains("record"));
        let result: Result<(), _> = Backlog::with(1, 1, Aside::default(), |_| Err(failure("work")));
        assert!(result.expect_err("it failed").to_string().contains("work"));
    }
}
