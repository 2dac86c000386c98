//! Runs jobs through three stages in parallel: reading, computing and writing.
//!
//! Each stage passes a job directly to the next, without a queue. So the number of jobs in memory never exceeds the
//! number of readers, workers and writers.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, bounded};

use super::Error;
use super::dispatch::Dispatch;
use super::spawn::Spawner;

/// Largest number of workers on one device. Four keep a GPU busy; each further worker takes memory and three more
/// threads.
pub const MOST_WORKERS: usize = 64;

/// Numbers of threads that read the input files of jobs, and that write their output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageThreads {
    /// Number of threads that read input files. Each thread reads the files of one job (such as one subject) at a time.
    pub readers: usize,
    /// Number of threads that write output files. Each thread writes the files of one job (such as one subject) at a
    /// time.
    pub writers: usize,
}

impl StageThreads {
    /// The numbers of threads for reading and for writing files that keep this number of workers busy. Reading a
    /// subject takes less time than its registration on a GPU, and writing its files takes twice as long.
    pub fn for_workers(workers: usize) -> StageThreads {
        StageThreads { readers: workers, writers: 2 * workers + 1 }
    }

    /// Largest number of jobs in memory at the same time.
    pub fn most_jobs(self, workers: usize) -> usize {
        self.readers + workers + self.writers
    }
}

/// The workers that compute. Workers of some devices may become ready after the run has begun.
pub trait Workers: Sync {
    /// Type of a worker, which computes one job (such as the registration of one subject) at a time.
    type Worker: Send;
    /// The error if a device that is opened after the first jobs have begun cannot be used, or if its worker cannot be
    /// started.
    type Error: From<Error> + Send;

    /// The number of the place (the device) where a worker computes. Workers at one place slow each other down.
    fn place(&self, worker: &Self::Worker) -> usize;

    /// Removes and returns the workers that are ready now. The list is never empty.
    fn ready(&self) -> Vec<Self::Worker>;

    /// Waits for the devices that are opened after the run has begun, and starts their workers through `late`. Ends
    /// when all workers have started, or when `late` reports that no job is left.
    ///
    /// # Errors
    /// If a worker cannot start. Then no further job begins; jobs that have begun are finished.
    fn later(&self, late: &Late<'_, Self::Worker>) -> Result<(), Self::Error>;

    /// Takes back a worker that is no longer needed, because no job is left for it.
    fn give_back(&self, worker: Self::Worker);
}

/// Starts workers whose devices are opened only after the run has begun.
pub struct Late<'a, Worker> {
    start: &'a (dyn Fn(Worker) -> Result<(), Error> + 'a),
    all_taken: &'a Receiver<Infallible>,
}

impl<Worker> Late<'_, Worker> {
    /// Lets a worker take jobs, on its own thread.
    ///
    /// # Errors
    /// If the thread cannot be started; the worker is dropped.
    pub fn start(&self, worker: Worker) -> Result<(), Error> {
        (self.start)(worker)
    }

    /// A channel that closes when the workers have taken the last job. The thread that starts workers of further
    /// devices then ends, because no more workers are needed.
    pub fn all_taken(&self) -> &Receiver<Infallible> {
        self.all_taken
    }
}

/// Runs every job through three functions: `read`, `compute` (on a worker) and `write`. `done` receives the results in
/// the order of completion, on the calling thread. Jobs begin in their order, each on the device with the least work.
/// If one of the functions fails for a job, its result must contain the error.
///
/// # Errors
/// If a thread cannot be started before the run; then no job begins. If a worker cannot start later; then jobs that
/// have begun are finished, and no further job begins.
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

/// Does what [`run`] does, and starts all threads through `spawner`, which in tests may refuse to start a thread.
#[expect(
    clippy::too_many_arguments,
    reason = "in addition to the arguments of `run`, tests give a `Spawner` that limits the number of threads"
)]
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
    // This channel closes when all threads have started, or when a thread could not be started. Reading threads wait
    // until then, so that no job begins if a thread cannot be started.
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
        // All reading threads' handles for offering jobs must exist before the first handle is dropped. If a thread
        // cannot be started, its handle is dropped.
        let givers: Vec<_> = (0..threads.readers).map(|_| dispatch.giver()).collect();
        let start_all = || -> Result<_, Error> {
            for giver in givers {
                let (reading, started) = (reading.clone(), started.clone());
                let work = move || {
                    let _ = started.recv();
                    // If all computing threads have ended because of a panic, offering a job fails. Then this reading
                    // thread ends as well.
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
            spawner.spawn(scope, "waiting for devices that are still being opened", move || {
                let came = workers.later(&Late { start: &start, all_taken: &all_taken });
                stopped.fetch_or(came.is_err(), Ordering::Relaxed);
                came
            })
        };
        let later = start_all();
        stopped.fetch_or(later.is_err(), Ordering::Relaxed);
        // The channels carry jobs from reading to computing to writing. From here on, only the threads of these stages
        // own the ends of the channels. So each channel closes when all threads that send into it have ended.
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
        #[error("the worker did not start")]
        Late,
        #[error(transparent)]
        Pool(#[from] Error),
    }

    /// Workers for tests. In some tests, one more worker starts, or fails to start, after a given number of jobs.
    #[derive(Default)]
    struct Shift {
        there: usize,
        late: Option<(usize, bool)>,
        done: AtomicUsize,
        /// Whether the worker that starts later than the others has finished a job, or has failed to start.
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
        /// Makes `there` test workers that are ready at once. If `late` is given, one more worker starts, or fails to
        /// start, during the run.
        fn with(there: usize, late: Option<(usize, bool)>) -> Shift {
            Shift { there, late, ..Shift::default() }
        }

        fn run(&self, jobs: u32) -> (Vec<usize>, Result<(), Failure>) {
            self.run_by(&Spawner::default(), jobs)
        }

        /// Runs `jobs` jobs and returns the worker of each finished job. If one worker starts during the run, the other
        /// workers wait until this worker has finished a job or failed to start.
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
        // Number of threads of a run: two readers, five writers, two workers, and one thread that waits for workers
        // that start during the run.
        const ALL: usize = 2 + 5 + 2 + 1;
        for threads in 0..ALL {
            let shift = Shift::with(2, None);
            let (of, result) = shift.run_by(&Spawner::limited_to(threads), 20);
            assert!(matches!(result, Err(Failure::Pool(Error::Thread { .. }))), "{threads}: {result:?}");
            assert_eq!((of.len(), shift.done.into_inner()), (0, 0), "{threads}");
        }
        // Only the thread for a worker that starts during the run cannot be started. Then jobs that have begun are
        // finished, and no further job begins.
        let shift = Shift::with(2, Some((4, true)));
        let (of, result) = shift.run_by(&Spawner::limited_to(ALL), 1000);
        assert!(matches!(result, Err(Failure::Pool(Error::Thread { .. }))), "{result:?}");
        assert!((4..1000).contains(&of.len()) && shift.left() == [0, 1], "{}", of.len());
        let (of, result) = Shift::with(2, None).run_by(&Spawner::limited_to(ALL), 20);
        assert!(result.is_ok() && of.len() == 20);
    }

    /// A job that counts the jobs that exist at the same time.
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
            // Computing is slow in this test, so that reading threads must wait.
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
