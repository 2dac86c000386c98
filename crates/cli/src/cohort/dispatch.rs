//! Who takes the next job: a worker of the place (the device) that has the least to do.
//!
//! Workers of one GPU share it. Were jobs taken by whoever comes first, the last ones of a round might all go to one GPU
//! and leave the others idle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs handed from those who read them to those who compute, each at once or waited with.
pub struct Dispatch<Job> {
    state: Mutex<State<Job>>,
    change: Condvar,
}

struct State<Job> {
    offered: VecDeque<Job>,
    /// Jobs taken so far.
    taken: usize,
    /// Jobs offered so far.
    given: usize,
    givers: usize,
    takers: usize,
    places: BTreeMap<usize, Place>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Workers with a job.
    busy: usize,
    /// Workers that wait for one.
    asking: usize,
}

/// One who offers jobs.
pub struct Giver<'a, Job>(&'a Dispatch<Job>);

/// One who takes them, at a place.
pub struct Taker<'a, Job> {
    dispatch: &'a Dispatch<Job>,
    place: usize,
    busy: bool,
}

impl<Job> Dispatch<Job> {
    /// For so many who give, and takers at these places.
    pub fn new(givers: usize, places: &[usize]) -> Dispatch<Job> {
        let state = State {
            offered: VecDeque::new(),
            taken: 0,
            given: 0,
            givers,
            takers: places.len(),
            places: places.iter().map(|place| (*place, Place::default())).collect(),
        };
        Dispatch { state: Mutex::new(state), change: Condvar::new() }
    }

    /// One of those who give; each must be made before the first is dropped.
    pub fn giver(&self) -> Giver<'_, Job> {
        Giver(self)
    }

    /// One of those who take.
    pub fn taker(&self, place: usize) -> Taker<'_, Job> {
        Taker { dispatch: self, place, busy: false }
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

    /// Whether nobody waits at a place with less to do.
    fn is_next(&self, place: usize) -> bool {
        let busy = self.places.get(&place).map_or(0, |place| place.busy);
        self.places.values().all(|other| other.asking == 0 || other.busy >= busy)
    }
}

impl<Job> Giver<'_, Job> {
    /// Offers a job and waits until it is taken; false if nobody is left to take it.
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
    /// The next job, done with the one before; `None` when there are no more.
    pub fn take(&mut self) -> Option<Job> {
        let mut state = self.dispatch.state();
        state.place(self.place).busy -= usize::from(std::mem::take(&mut self.busy));
        state.place(self.place).asking += 1;
        self.dispatch.change.notify_all();
        let job = loop {
            if !state.offered.is_empty() && state.is_next(self.place) {
                break state.offered.pop_front();
            }
            if state.offered.is_empty() && state.givers == 0 {
                break None;
            }
            state = self.dispatch.wait(state);
        };
        state.place(self.place).asking -= 1;
        if job.is_some() {
            state.place(self.place).busy += 1;
            state.taken += 1;
            self.busy = true;
        }
        self.dispatch.change.notify_all();
        job
    }
}

impl<Job> Drop for Taker<'_, Job> {
    fn drop(&mut self) {
        let mut state = self.dispatch.state();
        state.place(self.place).busy -= usize::from(self.busy);
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
        let dispatch = Dispatch::new(1, &[0, 0, 1, 1]);
        std::thread::scope(|scope| {
            let (took, who) = channel();
            // Each keeps its first job until it is told to go on.
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
            // All ask before the first job comes: else the first to come has it, wherever it is.
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
    fn nobody_left_means_no() {
        let dispatch = Dispatch::new(1, &[3]);
        let giver = dispatch.giver();
        drop(dispatch.taker(3));
        assert!(!giver.give(()));
        let other: Dispatch<()> = Dispatch::new(1, &[3]);
        drop(other.giver());
        assert!(other.taker(3).take().is_none());
    }
}
