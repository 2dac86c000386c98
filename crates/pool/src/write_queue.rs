//! Writes files in the background while the next jobs are computed.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::spawn::Spawner;
use super::{BackgroundThreads, Error};

type Record<'a, E> = Box<dyn FnOnce() -> Result<(), E> + Send + 'a>;
type Task<'a, E> = Box<dyn FnOnce() -> Result<Record<'a, E>, E> + Send + 'a>;
type Panic = Box<dyn Any + Send>;

/// Tasks that run in the background, in any order.
///
/// Each task returns a *record*, a short function that runs after it. Records run one at a time, in the order in
/// which their
/// tasks were added, so that each record can rely on the earlier ones.
pub struct WriteQueue<'a, E> {
    state: Mutex<State<'a, E>>,
    change: Condvar,
    /// Largest number of tasks that wait to begin.
    capacity: usize,
    background: BackgroundThreads,
}

struct State<'a, E> {
    waiting: VecDeque<(usize, Task<'a, E>)>,
    /// Number of tasks that have been added to the queue.
    added: usize,
    /// The records (see [`WriteQueue`]) of finished tasks, by task number; `None` for a task that failed.
    records: BTreeMap<usize, Option<Record<'a, E>>>,
    /// Number of records (functions that run after tasks) that have run.
    recorded: usize,
    /// Whether a record (the function that runs after a task) is running now.
    recording: bool,
    /// The first failure of a task, until it is returned to the caller.
    failed: Option<E>,
    /// Whether a failure of a task has been returned to the caller. Then an error of the caller's work is reported
    /// rather than a later failure of a task.
    told: bool,
    /// The first panic in a task or a record.
    panicked: Option<Panic>,
    /// While a [`Pause`] exists, no task begins before this time.
    paused: Option<Instant>,
    closed: bool,
}

/// A guard that pauses the queue: while it exists, no further task begins.
pub struct Pause<'q, 'a, E>(&'q WriteQueue<'a, E>);

impl<'a, E: From<Error> + Send> WriteQueue<'a, E> {
    /// Calls `work` with a queue whose tasks run on `threads` threads. At most `capacity` tasks wait; adding another
    /// waits. When this returns, all tasks have run and are recorded, also if `work` fails.
    ///
    /// # Errors
    /// If a thread cannot be started (`work` is not called then), a task or a record fails, or `work` fails. If several
    /// fail, the first failure of a task or a record is returned, because later failures are often its consequences. If
    /// [`WriteQueue::settle`] or [`WriteQueue::check`] has already returned a failure, the error of `work` is returned.
    ///
    /// # Panics
    /// If a task, a record or `work` panics.
    pub fn with<T>(
        threads: usize,
        capacity: usize,
        background: BackgroundThreads,
        work: impl FnOnce(&WriteQueue<'a, E>) -> Result<T, E>,
    ) -> Result<T, E> {
        WriteQueue::with_by(&Spawner::default(), threads, capacity, background, work)
    }

    fn with_by<T>(
        spawner: &Spawner,
        threads: usize,
        capacity: usize,
        background: BackgroundThreads,
        work: impl FnOnce(&WriteQueue<'a, E>) -> Result<T, E>,
    ) -> Result<T, E> {
        let queue = WriteQueue { state: Mutex::default(), change: Condvar::new(), capacity, background };
        let result = std::thread::scope(|scope| {
            // Closes the queue also if `work` panics or a thread cannot be started; otherwise the other threads would
            // wait for ever.
            let _closing = Closing(&queue);
            for _ in 0..threads.max(1) {
                spawner.spawn(scope, "writing files", || queue.work())?;
            }
            work(&queue)
        });
        let mut state = queue.state();
        if let Some(panic) = state.panicked.take() {
            drop(state);
            resume_unwind(panic);
        }
        match (state.failed.take(), result) {
            (Some(_), Err(error)) if state.told => Err(error),
            (Some(error), _) => Err(error),
            (None, result) => result,
        }
    }

    /// Prevents further tasks from beginning while the processor is needed for other work. The pause ends after at
    /// most 0.2 s, because files that are not yet written would be lost if the program were killed. Adding a task
    /// does not wait for the pause.
    pub fn pause(&self) -> Pause<'_, 'a, E> {
        self.pause_for(Duration::from_millis(200))
    }

    fn pause_for(&self, longest: Duration) -> Pause<'_, 'a, E> {
        self.state().paused = Some(Instant::now() + longest);
        Pause(self)
    }

    /// Adds a task to the queue.
    pub fn push<R>(&self, task: impl FnOnce() -> Result<R, E> + Send + 'a)
    where
        R: FnOnce() -> Result<(), E> + Send + 'a,
    {
        let is_full = |state: &mut State<E>| state.waiting.len() >= self.capacity && state.paused.is_none();
        let mut state = self.change.wait_while(self.state(), is_full).unwrap_or_else(PoisonError::into_inner);
        let number = state.added;
        state.added += 1;
        state.waiting.push_back((number, Box::new(|| task().map(|record| Box::new(record) as Record<'a, E>))));
        drop(state);
        self.change.notify_all();
    }

    /// Waits until every task has run and is recorded.
    ///
    /// # Errors
    /// The first failure of a task or a record, unless it was returned before.
    pub fn settle(&self) -> Result<(), E> {
        let idle = self.change.wait_while(self.state(), |state| state.recorded < state.added);
        idle.unwrap_or_else(PoisonError::into_inner).tell()
    }

    /// Returns the first error of a task so far, without waiting for other tasks.
    ///
    /// # Errors
    /// The first failure of a task or a record, unless it was returned before.
    pub fn check(&self) -> Result<(), E> {
        self.state().tell()
    }

    fn work(&self) {
        while let Some((number, task)) = self.next() {
            self.change.notify_all();
            let record = self.run(|| self.background.run(task));
            self.state().records.insert(number, record);
            self.record();
        }
    }

    /// Runs a task or a record and stores its error or panic. If the thread ended instead, the other threads would wait
    /// for ever.
    fn run<T>(&self, task: impl FnOnce() -> Result<T, E>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(task)) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => {
                self.state().failed.get_or_insert(error);
            }
            Err(panic) => {
                self.state().panicked.get_or_insert(panic);
            }
        }
        None
    }

    /// Runs the records of finished tasks in order, unless another thread is doing so.
    fn record(&self) {
        let mut state = self.state();
        while !state.recording {
            let turn = state.recorded;
            let Some(record) = state.records.remove(&turn) else { return };
            state.recording = true;
            drop(state);
            record.and_then(|record| self.run(record));
            state = self.state();
            state.recording = false;
            state.recorded += 1;
            self.change.notify_all();
        }
    }
}

impl<'a, E> WriteQueue<'a, E> {
    fn state(&self) -> MutexGuard<'_, State<'a, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a task may begin and returns it; `None` if the queue is closed and empty.
    fn next(&self) -> Option<(usize, Task<'a, E>)> {
        let mut state = self.state();
        loop {
            let paused = state.paused.filter(|_| !state.closed);
            let paused = paused.map(|until| until.saturating_duration_since(Instant::now()));
            state = match paused {
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
}

impl<E> State<'_, E> {
    /// Returns the stored failure of a task the first time, and nothing later.
    fn tell(&mut self) -> Result<(), E> {
        let Some(error) = self.failed.take() else { return Ok(()) };
        self.told = true;
        Err(error)
    }
}

impl<E> Default for State<'_, E> {
    fn default() -> Self {
        State {
            waiting: VecDeque::new(),
            added: 0,
            records: BTreeMap::new(),
            recorded: 0,
            recording: false,
            failed: None,
            told: false,
            panicked: None,
            paused: None,
            closed: false,
        }
    }
}

impl<E> Drop for Pause<'_, '_, E> {
    fn drop(&mut self) {
        self.0.state().paused = None;
        self.0.change.notify_all();
    }
}

/// Closes the queue on drop, so that the threads end when the queue is empty.
struct Closing<'q, 'a, E>(&'q WriteQueue<'a, E>);

impl<E> Drop for Closing<'_, '_, E> {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.change.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("{0}")]
        Named(&'static str),
        #[error(transparent)]
        Pool(#[from] Error),
    }

    fn with<'a, T>(
        threads: usize,
        capacity: usize,
        work: impl FnOnce(&WriteQueue<'a, Failure>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        WriteQueue::with(threads, capacity, BackgroundThreads::shared(), work)
    }

    #[test]
    fn records_come_in_order_however_long_their_tasks_take() {
        let (done, recorded) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let (done, recorded) = (&done, &recorded);
        with(4, 100, |queue| {
            for number in 0..40 {
                queue.push(move || {
                    // Every fourth task is slow, so that tasks end in another order than they were added.
                    std::thread::sleep(Duration::from_micros(if number % 4 == 0 { 3000 } else { 100 }));
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok(move || {
                        recorded.lock().expect("no panic").push(number);
                        Ok(())
                    })
                });
            }
            queue.settle()?;
            assert_eq!(done.load(Ordering::SeqCst), 40);
            Ok(())
        })
        .expect("nothing fails");
        assert_eq!(*recorded.lock().expect("no panic"), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn no_task_begins_while_paused() {
        let done = AtomicUsize::new(0);
        let done = &done;
        with(2, 2, |queue| {
            let pause = queue.pause_for(Duration::from_secs(3600));
            // The test adds more tasks than the queue can hold.
            for _ in 0..5 {
                queue.push(|| {
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok(|| Ok(()))
                });
            }
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(done.load(Ordering::SeqCst), 0);
            drop(pause);
            queue.settle()?;
            assert_eq!(done.load(Ordering::SeqCst), 5);
            // The pause must end by itself after 0.2 s.
            let _pause = queue.pause_for(Duration::from_millis(1));
            queue.push(|| Ok(|| Ok(())));
            queue.settle()
        })
        .expect("nothing fails");
    }

    #[test]
    fn a_failure_comes_out_and_the_others_are_done() {
        let recorded = AtomicUsize::new(0);
        let result = with(2, 3, |queue| {
            for number in 0..10 {
                let recorded = &recorded;
                queue.push(move || {
                    let record = move || {
                        recorded.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    };
                    if number == 4 { Err(Failure::Named("four")) } else { Ok(record) }
                });
            }
            Ok(())
        });
        assert!(matches!(result, Err(Failure::Named("four"))));
        assert_eq!(recorded.into_inner(), 9);
        let result = with(1, 1, |queue| {
            queue.push(|| Ok(|| Err(Failure::Named("record"))));
            queue.settle()
        });
        assert!(matches!(result, Err(Failure::Named("record"))));
        let result: Result<(), _> = with(1, 1, |_| Err(Failure::Named("work")));
        assert!(matches!(result, Err(Failure::Named("work"))));
    }

    #[test]
    fn a_failure_that_was_returned_is_not_hidden_by_what_follows_from_it() {
        let result: Result<(), _> = with(1, 3, |queue| {
            queue.push(|| if true { Err(Failure::Named("cause")) } else { Ok(|| Ok(())) });
            let cause = queue.settle();
            queue.push(|| Ok(|| Err(Failure::Named("consequence"))));
            cause
        });
        assert!(matches!(result, Err(Failure::Named("cause"))), "{result:?}");
        // If the first failure has been returned and the work continues, the next failure is returned at the end.
        let result = with(1, 3, |queue| {
            queue.push(|| Ok(|| Err(Failure::Named("first"))));
            let _ = queue.settle();
            queue.push(|| Ok(|| Err(Failure::Named("second"))));
            Ok(())
        });
        assert!(matches!(result, Err(Failure::Named("second"))), "{result:?}");
    }

    #[test]
    fn no_work_begins_unless_every_thread_starts() {
        for threads in 0..3 {
            let called = AtomicBool::new(false);
            let spawner = Spawner::limited_to(threads);
            let result: Result<(), Failure> =
                WriteQueue::with_by(&spawner, 3, 1, BackgroundThreads::shared(), |_| {
                    called.store(true, Ordering::SeqCst);
                    Ok(())
                });
            assert!(matches!(result, Err(Failure::Pool(Error::Thread { .. }))), "{threads}: {result:?}");
            assert!(!called.into_inner());
        }
    }

    #[test]
    fn a_panic_comes_out_and_leaves_nobody_waiting() {
        // The test uses a single thread: if the thread ended at the first panic, no further task would run.
        for in_record in [false, true] {
            let recorded = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                with(1, 1, |queue| {
                    for number in 0..3 {
                        let recorded = &recorded;
                        queue.push(move || {
                            assert!(in_record || number > 0, "the first task");
                            Ok(move || {
                                assert!(number > 0, "the first record");
                                recorded.fetch_add(1, Ordering::SeqCst);
                                Ok(())
                            })
                        });
                    }
                    queue.settle()
                })
            }));
            let panic = result.expect_err("a panic");
            let expected = if in_record { "the first record" } else { "the first task" };
            assert_eq!(panic.downcast_ref::<&str>(), Some(&expected));
            assert_eq!(recorded.into_inner(), 2);
        }
    }
}
