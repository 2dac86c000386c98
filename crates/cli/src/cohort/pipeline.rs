//! Jobs through three stages at once: some are read while others are computed and others are written.
//!
//! What one stage hands to the next is taken at once or waited with, so never more jobs are in memory than there are
//! readers, workers and writers together, however many jobs there are.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, bounded};

use super::dispatch::Dispatch;
use crate::error::CliError;

/// How many threads read and write beside those that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// Jobs read at a time.
    pub readers: usize,
    /// Jobs written at a time.
    pub writers: usize,
}

impl Crew {
    /// As many as keep so many workers busy: reading a subject takes less time than registering it on a GPU, writing its files
    /// takes twice as long.
    pub fn for_workers(workers: usize) -> Crew {
        Crew { readers: workers, writers: 2 * workers + 1 }
    }

    /// The most jobs in memory at once.
    pub fn most_jobs(self, workers: usize) -> usize {
        self.readers + workers + self.writers
    }
}

/// Those who compute. Some may come later than others.
pub trait Staff: Sync {
    /// One of them.
    type Worker: Send;

    /// Where one works; of workers at one place none is faster where another is at work.
    fn place(&self, worker: &Self::Worker) -> usize;

    /// Whoever is there, at least one.
    fn come(&self) -> Vec<Self::Worker>;

    /// Has those who come later `begin` as they come, until `over` closes. No further job begins where this fails.
    fn welcome(&self, over: &Receiver<Infallible>, begin: &dyn Fn(Self::Worker)) -> Result<(), CliError>;

    /// One has nothing more to do.
    fn leave(&self, worker: Self::Worker);
}

/// Takes every job through `read`, `compute` (on one of the workers) and `write`; `done` gets what comes out, in the order
/// of completion, on the calling thread. Jobs begin in their order, at the place where least is done. Stages give failures
/// on as values; what fails here is the staff.
pub fn run<Job, Loaded, Computed, Written, S: Staff>(
    staff: &S,
    jobs: Vec<Job>,
    crew: Crew,
    read: impl Fn(Job) -> Loaded + Sync,
    compute: impl Fn(&mut S::Worker, Loaded) -> Computed + Sync,
    write: impl Fn(Computed) -> Written + Sync,
    done: impl FnMut(Written),
) -> Result<(), CliError>
where
    Job: Send,
    Loaded: Send,
    Computed: Send,
    Written: Send,
{
    let dispatch = Dispatch::new(jobs.len(), crew.readers);
    let (jobs, stopped) = (Mutex::new(jobs.into_iter()), AtomicBool::new(false));
    let next = || match stopped.load(Ordering::Relaxed) {
        true => None,
        false => jobs.lock().unwrap_or_else(PoisonError::into_inner).next(),
    };
    let (dispatch, stopped, next, read, compute, write) = (&dispatch, &stopped, &next, &read, &compute, &write);
    let (to_writers, computed) = bounded(0);
    let (to_end, written) = bounded(0);
    let (reading, all_taken) = bounded(0);
    std::thread::scope(|scope| {
        let begin = move |mut worker: S::Worker| {
            let (mut taker, to_writers) = (dispatch.taker(staff.place(&worker)), to_writers.clone());
            scope.spawn(move || {
                while taker.take().is_some_and(|job| to_writers.send(compute(&mut worker, job)).is_ok()) {}
                drop((taker, to_writers));
                staff.leave(worker);
            });
        };
        staff.come().into_iter().for_each(&begin);
        for _ in 0..crew.readers {
            let (giver, reading) = (dispatch.giver(), reading.clone());
            scope.spawn(move || {
                // A stage that finds nobody behind it any more ends as well: someone there panicked.
                while next().is_some_and(|job| giver.give(read(job))) {}
                drop(reading);
            });
        }
        let welcoming = scope.spawn(move || {
            let welcomed = staff.welcome(&all_taken, &begin);
            stopped.fetch_or(welcomed.is_err(), Ordering::Relaxed);
            welcomed
        });
        for _ in 0..crew.writers {
            let (computed, to_end) = (computed.clone(), to_end.clone());
            scope.spawn(move || computed.iter().all(|job| to_end.send(write(job)).is_ok()));
        }
        // Only the stages hold the ends of their queues: each closes when the stage before it is through.
        drop((reading, computed, to_end));
        written.iter().for_each(done);
        welcoming.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use crossbeam_channel::TryRecvError;

    use super::*;
    use crate::error::UsageError;

    /// So many workers, and one more who comes, or fails to, when so many jobs are done.
    #[derive(Default)]
    struct Shift {
        there: usize,
        late: Option<(usize, Result<(), UsageError>)>,
        done: AtomicUsize,
        /// Whether that one has done a job, or failed to come.
        settled: AtomicBool,
        left: Mutex<Vec<usize>>,
    }

    impl Staff for Shift {
        type Worker = usize;

        fn place(&self, worker: &usize) -> usize {
            *worker
        }

        fn come(&self) -> Vec<usize> {
            (0..self.there).collect()
        }

        fn welcome(&self, over: &Receiver<Infallible>, begin: &dyn Fn(usize)) -> Result<(), CliError> {
            let Some((after, late)) = &self.late else { return Ok(()) };
            while self.done.load(Ordering::SeqCst) < *after {
                assert_eq!(over.try_recv(), Err(TryRecvError::Empty), "jobs are left");
                std::thread::yield_now();
            }
            self.settled.store(late.is_err(), Ordering::SeqCst);
            late.clone()?;
            begin(self.there);
            Ok(())
        }

        fn leave(&self, worker: usize) {
            self.left.lock().expect("no panic").push(worker);
        }
    }

    impl Shift {
        /// Of those there, with this one.
        fn with(there: usize, late: Option<(usize, Result<(), UsageError>)>) -> Shift {
            Shift { there, late, ..Shift::default() }
        }

        /// So many jobs through it: who did each that came out. Nobody goes on until the late one is settled.
        fn run(&self, jobs: u32) -> (Vec<usize>, Result<(), CliError>) {
            let compute = |worker: &mut usize, _: u32| {
                std::thread::sleep(Duration::from_micros(500));
                let done = 1 + self.done.fetch_add(1, Ordering::SeqCst);
                self.settled.fetch_or(*worker == self.there, Ordering::SeqCst);
                let after = self.late.as_ref().map_or(usize::MAX, |(after, _)| *after);
                while done >= after && !self.settled.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                *worker
            };
            let mut who = Vec::new();
            let crew = Crew::for_workers(self.there);
            let result = run(self, (0..jobs).collect(), crew, |job| job, compute, |worker| worker, |it| who.push(it));
            (who, result)
        }
    }

    #[test]
    fn who_comes_later_takes_his_share() {
        let shift = Shift::with(2, Some((4, Ok(()))));
        let (who, result) = shift.run(60);
        assert!(result.is_ok() && who.len() == 60 && who.contains(&2), "{who:?}");
        let mut left = shift.left.into_inner().expect("no panic");
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2]);
    }

    #[test]
    fn a_device_that_fails_to_come_ends_what_has_not_begun() {
        let shift = Shift::with(1, Some((4, Err(UsageError::OverInput("late".into())))));
        let (who, result) = shift.run(1000);
        assert!(result.expect_err("one failed").to_string().contains("late"));
        assert!((4..1000).contains(&who.len()) && shift.left.into_inner().expect("no panic") == [0], "{}", who.len());
    }

    /// A number that knows how many of its kind there are.
    struct Held(u32, Arc<AtomicUsize>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_job_passes_once_and_few_are_held() {
        let (held, most) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let crew = Crew { readers: 2, writers: 3 };
        let read = |number: u32| {
            most.fetch_max(1 + held.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            Held(number, held.clone())
        };
        let compute = |_: &mut usize, job: Held| {
            // Nothing is waited for here: work that takes a while makes the queues fill up.
            std::thread::sleep(Duration::from_micros(200));
            (job.0 * 10, job)
        };
        let mut found = Vec::new();
        let shift = Shift::with(2, None);
        let result = run(&shift, (0..100).collect(), crew, read, compute, |(number, _job)| number, |n| found.push(n));
        assert!(result.is_ok());
        found.sort_unstable();
        assert_eq!(found, (0..100).map(|number| number * 10).collect::<Vec<_>>());
        assert!(most.into_inner() <= crew.most_jobs(2));
    }

    #[test]
    fn one_of_each_keeps_the_order() {
        let crew = Crew { readers: 1, writers: 1 };
        let mut found = Vec::new();
        let shift = Shift::with(1, None);
        let result = run(&shift, (0..20).collect(), crew, |n: u32| n, |_, n| n + 1, |n| n, |n| found.push(n));
        assert!(result.is_ok());
        assert_eq!(found, (1..21).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_ends_it_all() {
        let compute = |_: &mut usize, n: u32| if n == 5 { panic!("five") } else { n };
        let _ = run(&Shift::with(1, None), (0..100).collect(), Crew::for_workers(1), |n| n, compute, |n| n, |_| ());
    }
}
