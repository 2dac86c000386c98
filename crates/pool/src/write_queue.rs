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
/// Each task returns a *record*, a short function that runs after it. Records run one at a time, in the order in which
/// their tasks were added, so that each record can rely on the earlier ones.
pub struct WriteQueue<'a, E> {
    state: Mutex<State<'a, E>>,
    change: Condvar,
    /// Largest number of tasks, such as writing the files of a subject, that wait in the queue.
    capacity: usize,
    background: BackgroundThreads,
}

struct State<'a, E> {
    waiting: VecDeque<(usize, Task<'a, E>)>,
    /// Number of tasks (such as writing the files of a subject) that have been added to the queue.
    added: usize,
    /// The records (functions that run after tasks) of the finished tasks, by task number; `None` for a task that
    /// failed.
    records: BTreeMap<usize, Option<Record<'a, E>>>,
    /// Number of records that have run. A record is the function that a task returns to be run after the task, such as
    /// an entry in a table.
    recorded: usize,
    /// Whether a thread is running a record (the function that a task returns to be run after the task) at present.
    recording: bool,
    /// The error of the first task that has failed; `None` after this error has been returned to the caller.
    failed: Option<E>,
    /// Whether the caller has already received the error of a failed task. Then the whole run ends with the error of
    /// the caller's own work, and not with the error of a later task.
    told: bool,
    /// The first panic in a background task, or in a record (the function that runs after a task).
    panicked: Option<Panic>,
    /// While the queue of background tasks is paused ([`Pause`]), no waiting task begins before this time.
    paused: Option<Instant>,
    closed: bool,
}

/// A guard that pauses the queue of background tasks, which write files: while the guard exists, no further task
/// begins.
pub struct Pause<'q, 'a, E>(&'q WriteQueue<'a, E>);

impl<'a, E: From<Error> + Send> WriteQueue<'a, E> {
    /// Calls `work` with a queue whose tasks run on `threads` threads. If `capacity` tasks wait to begin, the thread
    /// that adds another task must wait. When this function returns, all tasks and their records (functions that run
    /// after tasks) have run, even if `work` fails.
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
            // The queue of background tasks is also closed if `work` panics or a thread cannot be started. Otherwise
            // the threads that have started would wait for new tasks for ever.
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

    /// Pauses the queue: no further task begins, so that the processor is free for other work. The pause ends after at
    /// most 0.2 s. A longer pause would delay the writing of files, and unwritten files are lost if the program is
    /// killed. Tasks can be added without delay during the pause.
    pub fn pause(&self) -> Pause<'_, 'a, E> {
        self.pause_for(Duration::from_millis(200))
    }

    fn pause_for(&self, longest: Duration) -> Pause<'_, 'a, E> {
        self.state().paused = Some(Instant::now() + longest);
        Pause(self)
    }

    /// Adds a task, such as writing the files of a subject, to the queue of background tasks. Waits while the queue is
    /// full.
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

    /// Waits until every task in the queue has run, and also its record (the function that runs after the task).
    ///
    /// # Errors
    /// The first failure of a task or a record, unless it was returned before.
    pub fn settle(&self) -> Result<(), E> {
        let idle = self.change.wait_while(self.state(), |state| state.recorded < state.added);
        idle.unwrap_or_else(PoisonError::into_inner).tell()
    }

    /// Returns the first error of a task, or of the record (function) that runs after it. Does not wait for tasks that
    /// have not ended.
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

    /// Runs a task or a record (a function that runs after a task), and stores its error or panic. If a panic ended
    /// this thread, other threads would wait for its tasks for ever.
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

    /// Runs the records (functions that run after tasks) of the finished tasks, in the order in which the tasks were
    /// added. Returns at once if another thread is running records.
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

    /// Waits until the next background task in the queue may begin, and returns this task; `None` if the queue is
    /// closed and empty.
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
    /// Returns the first failure of a task as an error, if no earlier call has returned it.
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

/// When this guard is dropped, the queue is closed, so that its threads end after the last waiting task.
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
            // The test does not end the pause; it must end by itself after its longest duration.
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
        // Waiting for the queue (`settle`) returns the error of the first failed task, and the caller continues. If a
        // later task fails, its error is then returned at the end.
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
        // The queue has a single thread. If a panic in a task ended this thread, no further task would run.
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
