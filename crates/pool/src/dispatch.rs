//! Assigns each job to the place (device) with the least work.
//!
//! Workers of one GPU share it. If each free worker took the next job, the last jobs could all go to one GPU while
//! others are idle. So for each of the last jobs, a free worker compares the times at which the places are expected to
//! finish the job. If another place is expected to be sooner, the free worker leaves the job to that place, even if all
//! workers there are still busy.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Passes jobs (such as subjects to be registered) from the threads that read files to the threads that compute. A
/// reading thread waits until a computing thread takes its job.
pub struct Dispatch<Job> {
    state: Mutex<State<Job>>,
    change: Condvar,
}

struct State<Job> {
    offered: VecDeque<Job>,
    /// Number of jobs (such as subjects) that workers have taken for computing.
    taken: usize,
    /// Number of jobs (such as subjects) that reading threads have offered to the workers.
    given: usize,
    /// Number of all jobs (such as subjects) of the list.
    all: usize,
    givers: usize,
    takers: usize,
    places: BTreeMap<usize, Place>,
    done: Done,
}

#[derive(Debug, Clone, Default)]
struct Place {
    /// Start times of the jobs that the workers of this place (device) compute at present.
    busy: Vec<Instant>,
    /// Number of workers of this place (device) that wait for a job.
    asking: usize,
}

/// Number and total duration of the jobs that the workers have finished. The mean duration, by which the duration of
/// later jobs is predicted, is computed from both.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    jobs: u32,
    /// Total computing time of the finished jobs, summed over the jobs.
    time: Duration,
}

/// Interval at which a free worker checks again whether to take the next job, after it has left this job to a worker of
/// another place (device).
const CHECK_EVERY: Duration = Duration::from_millis(2);

/// Handle with which a reading thread offers its jobs to the workers.
pub struct Giver<'a, Job>(&'a Dispatch<Job>);

/// Handle with which a worker takes the next job (such as the next subject). Each worker computes at one place
/// (device).
pub struct Taker<'a, Job> {
    dispatch: &'a Dispatch<Job>,
    place: usize,
    /// Time at which the worker began its present job; `None` while the worker has no job.
    busy: Option<Instant>,
}

impl<Job> Dispatch<Job> {
    /// Makes a dispatcher, which passes jobs from `givers` reading threads to the workers. The number of jobs is `all`.
    pub fn new(all: usize, givers: usize) -> Dispatch<Job> {
        let state = State {
            offered: VecDeque::new(),
            taken: 0,
            given: 0,
            all,
            givers,
            takers: 0,
            places: BTreeMap::new(),
            done: Done::default(),
        };
        Dispatch { state: Mutex::new(state), change: Condvar::new() }
    }

    /// Makes the handle of a reading thread, with which the thread offers jobs to workers. The handles of all reading
    /// threads must be created before the first handle is dropped.
    pub fn giver(&self) -> Giver<'_, Job> {
        Giver(self)
    }

    /// Makes the handle with which a worker at this place (device) takes jobs. The handle of at least one worker must
    /// exist before any job is offered.
    pub fn taker(&self, place: usize) -> Taker<'_, Job> {
        let mut state = self.state();
        state.takers += 1;
        state.place(place);
        drop(state);
        Taker { dispatch: self, place, busy: None }
    }

    fn state(&self) -> MutexGuard<'_, State<Job>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<Job>>) -> MutexGuard<'a, State<Job>> {
        self.change.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Job> State<Job> {
    fn place(&mut self, place: usize) -> &mut Place {
        self.places.entry(place).or_default()
    }

    /// Whether a free worker of this place (device) should take the next job. The worker leaves the job to another
    /// place if fewer jobs run there and a worker waits there. Each of the last jobs goes to the place that is expected
    /// to finish it soonest.
    fn is_next(&self, place: usize) -> bool {
        let Some(own) = self.places.get(&place) else { return true };
        if self.all - self.taken >= self.takers || self.done.jobs == 0 {
            return self.places.values().all(|other| other.asking == 0 || other.busy.len() >= own.busy.len());
        }
        // The clock is read once for all devices. If it were read again for each device, the devices read later would
        // seem to have less work left.
        let (usual, now) = (self.usual(), Instant::now());
        let left = own.left(usual, now);
        self.places.values().all(|other| other.left(usual, now) >= left)
    }

    /// The mean computing time of the finished jobs, by which the duration of the next jobs is predicted; zero if no
    /// job is finished.
    fn usual(&self) -> Duration {
        self.done.time / self.done.jobs.max(1)
    }

    /// Records that a worker of this place (device) has finished the job which it began at this time.
    fn end(&mut self, place: usize, began: Option<Instant>) {
        let Some(began) = began else { return };
        let busy = &mut self.place(place).busy;
        busy.iter().position(|other| *other == began).map(|at| busy.swap_remove(at));
        self.done.jobs += 1;
        self.done.time += began.elapsed();
    }
}

impl Place {
    /// Expected remaining computing time of the current jobs of this place (device), summed over the jobs. Each job is
    /// expected to take the mean duration of the finished jobs.
    fn left(&self, usual: Duration, now: Instant) -> Duration {
        self.busy.iter().map(|began| usual.saturating_sub(now.saturating_duration_since(*began))).sum()
    }
}

impl<Job> Giver<'_, Job> {
    /// Offers a job (such as the loaded images of a subject) to the workers and waits until a worker takes it. Returns
    /// false if all workers have ended without taking the job.
    pub fn give(&self, job: Job) -> bool {
        let mut state = self.0.state();
        let number = state.given;
        state.given += 1;
        state.offered.push_back(job);
        self.0.change.notify_all();
        while state.taken <= number && state.takers > 0 {
            state = self.0.wait(state);
        }
        state.taken > number
    }
}

impl<Job> Drop for Giver<'_, Job> {
    fn drop(&mut self) {
        self.0.state().givers -= 1;
        self.0.change.notify_all();
    }
}

impl<Job> Taker<'_, Job> {
    /// Reports that the worker's current job has ended, and waits for the next job. Returns `None` when no jobs are
    /// left.
    pub fn take(&mut self) -> Option<Job> {
        let mut state = self.dispatch.state();
        state.end(self.place, self.busy.take());
        state.place(self.place).asking += 1;
        self.dispatch.change.notify_all();
        let job = loop {
            if !state.offered.is_empty() && state.is_next(self.place) {
                break state.offered.pop_front();
            }
            if state.offered.is_empty() && state.givers == 0 {
                break None;
            }
            state = match state.offered.is_empty() {
                true => self.dispatch.wait(state),
                false => {
                    self.dispatch.change.wait_timeout(state, CHECK_EVERY).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        };
        state.place(self.place).asking -= 1;
        if job.is_some() {
            let now = Instant::now();
            state.place(self.place).busy.push(now);
            state.taken += 1;
            self.busy = Some(now);
        }
        self.dispatch.change.notify_all();
        job
    }
}

impl<Job> Drop for Taker<'_, Job> {
    fn drop(&mut self) {
        let mut state = self.dispatch.state();
        state.end(self.place, self.busy.take());
        state.takers -= 1;
        self.dispatch.change.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_job_goes_where_least_is_done() {
        // The test is repeated, because the order in which waiting threads wake up is random: a single run could
        // succeed by chance.
        (0..30).for_each(|_| two_jobs_go_to_two_places());
    }

    fn two_jobs_go_to_two_places() {
        let dispatch = Dispatch::new(4, 1);
        std::thread::scope(|scope| {
            let (took, who) = channel();
            // In this test each worker computes its first job until the test lets it continue.
            let on: Vec<_> = [0, 0, 1, 1]
                .into_iter()
                .map(|place| {
                    let (go_on, wait) = channel::<()>();
                    let (took, mut taker) = (took.clone(), dispatch.taker(place));
                    scope.spawn(move || {
                        while taker.take().is_some() {
                            let _ = took.send(place);
                            let _ = wait.recv();
                        }
                    });
                    go_on
                })
                .collect();
            // The test waits until all workers wait for a job. Otherwise the worker that happens to ask first would
            // take the job.
            while dispatch.state().places.values().map(|place| place.asking).sum::<usize>() < 4 {
                std::thread::yield_now();
            }
            let giver = dispatch.giver();
            for _ in 0..2 {
                assert!(giver.give(()) && giver.give(()));
                let mut two = [who.recv().expect("taken"), who.recv().expect("taken")];
                two.sort_unstable();
                assert_eq!(two, [0, 1], "one job for each place");
            }
            drop((giver, on));
        });
    }

    #[test]
    fn the_last_job_goes_where_it_is_done_first() {
        let dispatch: Dispatch<()> = Dispatch::new(9, 1);
        let _takers = [0, 0, 1, 1].map(|place| dispatch.taker(place));
        let mut state = dispatch.state();
        let (now, usual) = (Instant::now(), Duration::from_secs(60));
        state.done = Done { jobs: 2, time: 2 * usual };
        // The first device has an idle worker, and a worker that has just begun a job. Both workers of the second
        // device have almost finished their jobs.
        let nearly = now.checked_sub(usual - Duration::from_secs(1)).expect("a minute ago");
        *state.place(0) = Place { busy: vec![now], asking: 1 };
        *state.place(1) = Place { busy: vec![nearly, nearly], asking: 0 };
        state.taken = 5;
        assert!(state.is_next(0), "as many are left as there are workers");
        state.taken = 8;
        assert!(!state.is_next(0) && state.is_next(1), "two seconds are less than a minute");
        state.place(1).busy = vec![now, nearly];
        assert!(state.is_next(0) && !state.is_next(1), "a minute is less than 61 seconds");
    }

    #[test]
    fn without_the_other_end_there_is_no_job() {
        let dispatch = Dispatch::new(1, 1);
        let giver = dispatch.giver();
        drop(dispatch.taker(3));
        assert!(!giver.give(()));
        let other: Dispatch<()> = Dispatch::new(1, 1);
        drop(other.giver());
        assert!(other.taker(3).take().is_none());
    }
}
