//! Jobs through three stages at once: some are read while others are computed and others are written.
//!
//! Each stage hands a job to the next directly, without a queue. So never more jobs are in memory than there are readers,
//! workers and writers together, however many jobs there are.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, bounded};

use super::Error;
use super::dispatch::Dispatch;
use super::spawn::Spawner;

/// The most workers of one device that make sense. A GPU is busy with three; each further one takes memory and three more
/// threads.
pub const MOST_WORKERS: usize = 64;

/// How many threads read and write beside those that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageThreads {
    /// Jobs read at a time.
    pub readers: usize,
    /// Jobs written at a time.
    pub writers: usize,
}

impl StageThreads {
    /// As many as keep so many workers busy: reading a subject takes less time than registering it on a GPU, writing its files
    /// takes twice as long.
    pub fn for_workers(workers: usize) -> StageThreads {
        StageThreads { readers: workers, writers: 2 * workers + 1 }
    }

    /// The most jobs in memory at once.
    pub fn most_jobs(self, workers: usize) -> usize {
        self.readers + workers + self.writers
    }
}

/// The workers that compute. Those of some devices may be ready later than others.
pub trait Workers: Sync {
    /// A worker.
    type Worker: Send;
    /// Why no further worker comes.
    type Error: From<Error> + Send;

    /// The number of the place (the device) where a worker computes; workers at one place slow each other down.
    fn place(&self, worker: &Self::Worker) -> usize;

    /// Takes out the workers that are ready now; at least one.
    fn ready(&self) -> Vec<Self::Worker>;

    /// Waits for the workers that are ready later and starts each, until all have come or `late` says that no job is left.
    ///
    /// # Errors
    /// If a worker cannot come. Then no further job begins; those under way are finished.
    fn later(&self, late: &Late<'_, Self::Worker>) -> Result<(), Self::Error>;

    /// Takes a worker back that has nothing more to do.
    fn give_back(&self, worker: Self::Worker);
}

/// Starts workers that are ready after a run has begun.
pub struct Late<'a, Worker> {
    start: &'a (dyn Fn(Worker) -> Result<(), Error> + 'a),
    all_taken: &'a Receiver<Infallible>,
}

impl<Worker> Late<'_, Worker> {
    /// Has a worker take jobs, on a thread of its own.
    ///
    /// # Errors
    /// If its thread cannot be started; the worker is dropped.
    pub fn start(&self, worker: Worker) -> Result<(), Error> {
        (self.start)(worker)
    }

    /// A channel that closes when no job is left.
    pub fn all_taken(&self) -> &Receiver<Infallible> {
        self.all_taken
    }
}

/// Takes every job through `read`, `compute` (on one of the workers) and `write`. `done` gets the results in the order of
/// completion, on the calling thread. Jobs begin in their order, at the place that has the least to do. The stages pass
/// their own failures on as values.
///
/// # Errors
/// If a thread cannot be started before the run: no job begins then. If a worker cannot come later: jobs under way are
/// finished, and no further job begins.
///
/// # Panics
/// If a stage panics; all threads have ended then.
pub fn run<Job, Loaded, Computed, Written, W: Workers>(
    workers: &W,
    jobs: Vec<Job>,
    threads: StageThreads,
    read: impl Fn(Job) -> Loaded + Sync,
    compute: impl Fn(&mut W::Worker, Loaded) -> Computed + Sync,
    write: impl Fn(Computed) -> Written + Sync,
    done: impl FnMut(Written),
) -> Result<(), W::Error>
where
    Job: Send,
    Loaded: Send,
    Computed: Send,
    Written: Send,
{
    run_by(&Spawner::default(), workers, jobs, threads, read, compute, write, done)
}

/// [`run`] with the threads of `spawner`.
#[expect(clippy::too_many_arguments, reason = "those of `run` and one more, for tests")]
fn run_by<Job, Loaded, Computed, Written, W: Workers>(
    spawner: &Spawner,
    workers: &W,
    jobs: Vec<Job>,
    threads: StageThreads,
    read: impl Fn(Job) -> Loaded + Sync,
    compute: impl Fn(&mut W::Worker, Loaded) -> Computed + Sync,
    write: impl Fn(Computed) -> Written + Sync,
    done: impl FnMut(Written),
) -> Result<(), W::Error>
where
    Job: Send,
    Loaded: Send,
    Computed: Send,
    Written: Send,
{
    let dispatch = Dispatch::new(jobs.len(), threads.readers);
    let (jobs, stopped) = (Mutex::new(jobs.into_iter()), AtomicBool::new(false));
    let next = || match stopped.load(Ordering::Relaxed) {
        true => None,
        false => jobs.lock().unwrap_or_else(PoisonError::into_inner).next(),
    };
    let (dispatch, stopped, next, read, compute, write) = (&dispatch, &stopped, &next, &read, &compute, &write);
    let (to_writers, computed) = bounded(0);
    let (to_end, written) = bounded(0);
    let (reading, all_taken) = bounded::<Infallible>(0);
    // Readers wait until it closes: no job begins before all threads are there.
    let (gate, started) = bounded::<Infallible>(0);
    std::thread::scope(|scope| {
        let start = move |mut worker: W::Worker| {
            let (mut taker, to_writers) = (dispatch.taker(workers.place(&worker)), to_writers.clone());
            let work = move || {
                while taker.take().is_some_and(|job| to_writers.send(compute(&mut worker, job)).is_ok()) {}
                drop((taker, to_writers));
                workers.give_back(worker);
            };
            spawner.spawn(scope, "a worker", work).map(drop)
        };
        // All before the first is dropped, which a thread that cannot be started does.
        let givers: Vec<_> = (0..threads.readers).map(|_| dispatch.giver()).collect();
        let start_all = || -> Result<_, Error> {
            for giver in givers {
                let (reading, started) = (reading.clone(), started.clone());
                let work = move || {
                    let _ = started.recv();
                    // Without a stage behind it this one ends as well: a thread there has panicked.
                    while next().is_some_and(|job| giver.give(read(job))) {}
                    drop(reading);
                };
                spawner.spawn(scope, "reading", work)?;
            }
            for _ in 0..threads.writers {
                let (computed, to_end) = (computed.clone(), to_end.clone());
                let work = move || computed.iter().all(|job| to_end.send(write(job)).is_ok());
                spawner.spawn(scope, "writing", work)?;
            }
            workers.ready().into_iter().try_for_each(&start)?;
            spawner.spawn(scope, "workers that are ready later", move || {
                let came = workers.later(&Late { start: &start, all_taken: &all_taken });
                stopped.fetch_or(came.is_err(), Ordering::Relaxed);
                came
            })
        };
        let later = start_all();
        stopped.fetch_or(later.is_err(), Ordering::Relaxed);
        // Only the stages hold the ends of their queues now: each closes when the stage before it has ended.
        drop((gate, reading, computed, to_end));
        written.iter().for_each(done);
        later?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use crossbeam_channel::TryRecvError;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("it did not come")]
        Late,
        #[error(transparent)]
        Pool(#[from] Error),
    }

    /// So many workers, and one more that comes, or fails to, when so many jobs are done.
    #[derive(Default)]
    struct Shift {
        there: usize,
        late: Option<(usize, bool)>,
        done: AtomicUsize,
        /// Whether the late one has done a job, or failed to come.
        settled: AtomicBool,
        left: Mutex<Vec<usize>>,
    }

    impl Workers for Shift {
        type Worker = usize;
        type Error = Failure;

        fn place(&self, worker: &usize) -> usize {
            *worker
        }

        fn ready(&self) -> Vec<usize> {
            (0..self.there).collect()
        }

        fn later(&self, late: &Late<usize>) -> Result<(), Failure> {
            let Some((after, comes)) = &self.late else { return Ok(()) };
            while self.done.load(Ordering::SeqCst) < *after {
                assert_eq!(late.all_taken().try_recv(), Err(TryRecvError::Empty), "jobs are left");
                std::thread::yield_now();
            }
            let started = if *comes { late.start(self.there).map_err(Failure::from) } else { Err(Failure::Late) };
            self.settled.fetch_or(started.is_err(), Ordering::SeqCst);
            started
        }

        fn give_back(&self, worker: usize) {
            self.left.lock().expect("no panic").push(worker);
        }
    }

    impl Shift {
        /// So many that are there, with this late one.
        fn with(there: usize, late: Option<(usize, bool)>) -> Shift {
            Shift { there, late, ..Shift::default() }
        }

        fn run(&self, jobs: u32) -> (Vec<usize>, Result<(), Failure>) {
            self.run_by(&Spawner::default(), jobs)
        }

        /// So many jobs: the worker of each that came out. No worker goes on until the late one is settled.
        fn run_by(&self, spawner: &Spawner, jobs: u32) -> (Vec<usize>, Result<(), Failure>) {
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
            let (mut of, threads) = (Vec::new(), StageThreads::for_workers(self.there));
            let same = |worker| worker;
            let result =
                run_by(spawner, self, (0..jobs).collect(), threads, |job| job, compute, same, |it| of.push(it));
            (of, result)
        }

        fn left(self) -> Vec<usize> {
            let mut left = self.left.into_inner().expect("no panic");
            left.sort_unstable();
            left
        }
    }

    #[test]
    fn a_late_worker_takes_its_share() {
        let shift = Shift::with(2, Some((4, true)));
        let (of, result) = shift.run(60);
        assert!(result.is_ok() && of.len() == 60 && of.contains(&2), "{of:?}");
        assert_eq!(shift.left(), [0, 1, 2]);
    }

    #[test]
    fn a_worker_that_fails_to_come_ends_what_has_not_begun() {
        let shift = Shift::with(1, Some((4, false)));
        let (of, result) = shift.run(1000);
        assert!(matches!(result, Err(Failure::Late)));
        assert!((4..1000).contains(&of.len()) && shift.left() == [0], "{}", of.len());
    }

    #[test]
    fn no_job_begins_unless_every_thread_starts() {
        // Two readers, five writers, two workers, and the thread that waits for the late one.
        const ALL: usize = 2 + 5 + 2 + 1;
        for threads in 0..ALL {
            let shift = Shift::with(2, None);
            let (of, result) = shift.run_by(&Spawner::limited_to(threads), 20);
            assert!(matches!(result, Err(Failure::Pool(Error::Thread { .. }))), "{threads}: {result:?}");
            assert_eq!((of.len(), shift.done.into_inner()), (0, 0), "{threads}");
        }
        // The late worker's own thread: what is under way is finished.
        let shift = Shift::with(2, Some((4, true)));
        let (of, result) = shift.run_by(&Spawner::limited_to(ALL), 1000);
        assert!(matches!(result, Err(Failure::Pool(Error::Thread { .. }))), "{result:?}");
        assert!((4..1000).contains(&of.len()) && shift.left() == [0, 1], "{}", of.len());
        let (of, result) = Shift::with(2, None).run_by(&Spawner::limited_to(ALL), 20);
        assert!(result.is_ok() && of.len() == 20);
    }

    /// A number; all of them are counted.
    struct Held(u32, Arc<AtomicUsize>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_job_passes_once_and_few_are_held() {
        let (held, most) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let threads = StageThreads { readers: 2, writers: 3 };
        let read = |number: u32| {
            most.fetch_max(1 + held.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            Held(number, held.clone())
        };
        let compute = |_: &mut usize, job: Held| {
            // It is slow, so that readers wait for it.
            std::thread::sleep(Duration::from_micros(200));
            (job.0 * 10, job)
        };
        let mut found = Vec::new();
        let (shift, write) = (Shift::with(2, None), |(number, _job): (u32, Held)| number);
        let result = run(&shift, (0..100).collect(), threads, read, compute, write, |n| found.push(n));
        assert!(result.is_ok());
        found.sort_unstable();
        assert_eq!(found, (0..100).map(|number| number * 10).collect::<Vec<_>>());
        assert!(most.into_inner() <= threads.most_jobs(2));
    }

    #[test]
    fn one_of_each_keeps_the_order() {
        let threads = StageThreads { readers: 1, writers: 1 };
        let mut found = Vec::new();
        let shift = Shift::with(1, None);
        let result = run(&shift, (0..20).collect(), threads, |n: u32| n, |_, n| n + 1, |n| n, |n| found.push(n));
        assert!(result.is_ok());
        assert_eq!(found, (1..21).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_ends_it_all() {
        let compute = |_: &mut usize, n: u32| if n == 5 { panic!("five") } else { n };
        let threads = StageThreads::for_workers(1);
        let _ = run(&Shift::with(1, None), (0..100).collect(), threads, |n| n, compute, |n| n, |_| ());
    }
}
