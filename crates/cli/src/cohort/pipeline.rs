//! Jobs through three stages at once: some are read while others are computed and others are written.
//!
//! What one stage hands to the next is taken at once or waited with, so never more jobs are in memory than there are
//! readers, workers and writers together, however many jobs there are.

use std::sync::{Mutex, PoisonError};

use crossbeam_channel::bounded;

use super::dispatch::Dispatch;

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

/// Takes every job through the stages with workers that are all alike: see [`run_at`].
pub fn run<Job, Loaded, Computed, Written, Worker>(
    jobs: Vec<Job>,
    crew: Crew,
    workers: Vec<Worker>,
    read: impl Fn(Job) -> Loaded + Sync,
    compute: impl Fn(&mut Worker, Loaded) -> Computed + Sync,
    write: impl Fn(Computed) -> Written + Sync,
    done: impl FnMut(Written),
) where
    Job: Send,
    Loaded: Send,
    Computed: Send,
    Written: Send,
    Worker: Send,
{
    run_at(|_| 0, jobs, crew, workers, read, compute, write, done);
}

/// Takes every job through `read`, `compute` (on one of the workers) and `write`; `done` gets what comes out, in the order
/// of completion, on the calling thread. Jobs begin in their order, on the `place` of a worker where least is done. Stages
/// give failures on as values.
#[expect(clippy::too_many_arguments, reason = "four stages, and what they work with")]
pub fn run_at<Job, Loaded, Computed, Written, Worker>(
    place: impl Fn(&Worker) -> usize,
    jobs: Vec<Job>,
    crew: Crew,
    workers: Vec<Worker>,
    read: impl Fn(Job) -> Loaded + Sync,
    compute: impl Fn(&mut Worker, Loaded) -> Computed + Sync,
    write: impl Fn(Computed) -> Written + Sync,
    mut done: impl FnMut(Written),
) where
    Job: Send,
    Loaded: Send,
    Computed: Send,
    Written: Send,
    Worker: Send,
{
    let all = jobs.len();
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let places: Vec<usize> = workers.iter().map(place).collect();
    let dispatch = Dispatch::new(all, crew.readers, &places);
    let (to_writers, computed) = bounded(0);
    let (to_end, written) = bounded(0);
    std::thread::scope(|scope| {
        for _ in 0..crew.readers {
            let (next, read, giver) = (&next, &read, dispatch.giver());
            // A stage that finds nobody behind it any more ends as well: someone there panicked.
            scope.spawn(move || while next().is_some_and(|job| giver.give(read(job))) {});
        }
        for (mut worker, place) in workers.into_iter().zip(&places) {
            let (compute, mut taker, to_writers) = (&compute, dispatch.taker(*place), to_writers.clone());
            scope.spawn(
                move || while taker.take().is_some_and(|job| to_writers.send(compute(&mut worker, job)).is_ok()) {},
            );
        }
        for _ in 0..crew.writers {
            let (write, computed, to_end) = (&write, computed.clone(), to_end.clone());
            scope.spawn(move || computed.iter().all(|job| to_end.send(write(job)).is_ok()));
        }
        // Only the stages hold the ends of their queues: each closes when the stage before it is through.
        drop((to_writers, computed, to_end));
        written.iter().for_each(&mut done);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

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
        let compute = |worker: &mut u32, job: Held| {
            *worker += 1;
            // Nothing is waited for here: work that takes a while makes the queues fill up.
            std::thread::sleep(Duration::from_micros(200));
            (job.0 * 10, job)
        };
        let mut found = Vec::new();
        run((0..100).collect(), crew, vec![0, 0], read, compute, |(number, _job)| number, |n| found.push(n));
        found.sort_unstable();
        assert_eq!(found, (0..100).map(|number| number * 10).collect::<Vec<_>>());
        assert!(most.into_inner() <= crew.most_jobs(2));
    }

    #[test]
    fn one_of_each_keeps_the_order() {
        let crew = Crew { readers: 1, writers: 1 };
        let mut found = Vec::new();
        run((0..20).collect(), crew, vec![()], |n: u32| n, |(), n| n + 1, |n| n, |n| found.push(n));
        assert_eq!(found, (1..21).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_ends_it_all() {
        let compute = |(): &mut (), n: u32| if n == 5 { panic!("five") } else { n };
        run((0..100).collect(), Crew::for_workers(1), vec![()], |n| n, compute, |n| n, |_| ());
    }
}
