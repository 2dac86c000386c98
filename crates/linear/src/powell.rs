//! Powell's method with a resolution for each parameter (Shams 2010, section 3.7): line searches along a set of
//! directions. After a sweep over all directions, the displacement of the whole sweep may replace a direction. A point
//! closer to an evaluated point than the resolution is not evaluated again.

mod memory;

use crate::Error;
use crate::line_search::LineSearch;
use crate::lockstep::{self, AskTell, Candidate};
use crate::parameters::{Direction, Parameters, along};
use memory::Memory;

/// Distance from the start of a line search to its first two evaluations, one on either side; in units of the
/// direction's length, which is one tolerance.
const OPENING: f64 = 10.0;

/// Largest number of parabolas fitted in one line search.
const REFINEMENTS: usize = 12;

/// Length of a new search direction, in units of the parameters' resolution. This is about one tolerance of the
/// parameters.
const STEP: f64 = 6.0;

/// Largest number of sweeps. A sweep is one line search along each direction.
const SWEEPS: usize = 30;

/// Smallest gain of a sweep, as a share of the cost. The search ends after a sweep with a smaller gain.
const LEAST_GAIN: f64 = 1e-6;

/// A line search of Powell's method, with its direction in the space of the transform parameters.
#[derive(Debug, Clone)]
struct Line {
    search: LineSearch,
    direction: Direction,
    /// Index of this line's direction in the set of search directions; `None` if the direction is the displacement of a
    /// whole sweep over all directions.
    number: Option<usize>,
}

/// The phases of a Powell search. The phase tells for which points the search needs costs next.
#[derive(Debug, Clone)]
enum Phase {
    /// A line search along one direction is running.
    Line(Box<Line>),
    /// The evaluation of one point beyond the end of a sweep. This point is as far from the end as the end is from the
    /// start of the sweep.
    Beyond,
    Done,
}

/// State of a search by Powell's method from one start: its current point and directions, and all points that were
/// evaluated.
#[derive(Debug, Clone)]
struct Powell {
    memory: Memory,
    directions: Vec<Direction>,
    point: Parameters,
    cost: f64,
    /// The parameters at which the current sweep (a line search along each direction) began, and the cost there.
    sweep_start: (Parameters, f64),
    /// The search direction along which the cost fell most in the current sweep: its index, and by how much the cost
    /// fell.
    steepest: (usize, f64),
    phase: Phase,
    sweeps_left: usize,
}

impl Powell {
    fn new(start: Parameters, directions: &[Direction], mm: f64) -> Powell {
        let memory = Memory::new(mm);
        let phase = match directions.first() {
            Some(first) => search_along(&memory, *first, Some(0), None),
            None => Phase::Done,
        };
        Powell {
            memory,
            directions: directions.to_vec(),
            point: start,
            cost: f64::INFINITY,
            sweep_start: (start, f64::INFINITY),
            steepest: (0, 0.0),
            phase,
            sweeps_left: SWEEPS,
        }
    }

    /// The sets of transform parameters whose costs the Powell search needs in its current phase.
    fn needed_points(&self) -> Vec<Parameters> {
        match &self.phase {
            Phase::Line(line) => {
                line.search.ask().iter().map(|distance| along(&self.point, &line.direction, *distance)).collect()
            }
            Phase::Beyond => vec![std::array::from_fn(|i| 2.0 * self.point[i] - self.sweep_start.0[i])],
            Phase::Done => Vec::new(),
        }
    }

    /// Continues the Powell search without new evaluations, as long as the costs of all points that it needs are known
    /// from earlier points.
    fn proceed(&mut self) {
        while !matches!(self.phase, Phase::Done) {
            let known: Option<Vec<f64>> =
                self.needed_points().iter().map(|point| self.memory.cost_near(point)).collect();
            let Some(costs) = known else { return };
            self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
                Phase::Line(mut line) => {
                    line.search.tell(&costs);
                    if line.search.ask().is_empty() { self.arrived(&line) } else { Phase::Line(line) }
                }
                Phase::Beyond => self.judged(costs[0]),
                Phase::Done => Phase::Done,
            };
        }
    }

    /// Moves the Powell search to the minimum that a line search found. Returns the next phase: the line search along
    /// the next direction, or the end of the sweep.
    fn arrived(&mut self, line: &Line) -> Phase {
        let best = line.search.best();
        if self.cost.is_infinite() {
            // The cost at the start of the whole search is known now, because the first line search has evaluated it.
            self.cost = self.memory.cost_near(&self.point).unwrap_or(best.cost);
            self.sweep_start.1 = self.cost;
        }
        let gain = self.cost - best.cost;
        self.point = along(&self.point, &line.direction, best.at);
        self.cost = best.cost;
        let Some(number) = line.number else { return self.sweep() };
        if gain > self.steepest.1 {
            self.steepest = (number, gain);
        }
        match self.directions.get(number + 1) {
            Some(next) => search_along(&self.memory, *next, Some(number + 1), Some(self.cost)),
            None => self.swept(),
        }
    }

    /// Ends a sweep (a line search along each direction). Returns the next phase: the end of the search, or the
    /// evaluation of a point beyond the end of the sweep.
    fn swept(&mut self) -> Phase {
        self.sweeps_left -= 1;
        let gain = self.sweep_start.1 - self.cost;
        let stayed = self.memory.are_near(&self.sweep_start.0, &self.point);
        if self.sweeps_left == 0 || stayed || gain <= LEAST_GAIN * self.cost.abs() {
            Phase::Done
        } else {
            Phase::Beyond
        }
    }

    /// After a sweep of line searches over all directions, one point beyond the sweep is evaluated; `beyond` is the
    /// cost there. Depending on this cost, the displacement of the sweep replaces the direction with the largest gain
    /// (Press et al., Numerical Recipes, section 10.7).
    fn judged(&mut self, beyond: f64) -> Phase {
        let (start, here, (_, most)) = (self.sweep_start.1, self.cost, self.steepest);
        let bend = 2.0 * (start - 2.0 * here + beyond) * (start - here - most).powi(2);
        if beyond >= start || bend >= most * (start - beyond).powi(2) {
            return self.sweep();
        }
        let whole: Direction = std::array::from_fn(|i| self.point[i] - self.sweep_start.0[i]);
        // The new search direction is scaled to about the length of the other search directions.
        let length = self.memory.resolutions(&whole);
        let whole = whole.map(|part| part * STEP / length);
        self.directions.remove(self.steepest.0);
        self.directions.push(whole);
        search_along(&self.memory, whole, None, Some(self.cost))
    }

    /// Begins the next sweep, which is a line search along each direction. Returns the line search along the first
    /// direction.
    fn sweep(&mut self) -> Phase {
        self.sweep_start = (self.point, self.cost);
        self.steepest = (0, 0.0);
        search_along(&self.memory, self.directions[0], Some(0), Some(self.cost))
    }
}

/// Makes a line search along `direction` from a point whose cost is `cost`.
fn search_along(memory: &Memory, direction: Direction, number: Option<usize>, cost: Option<f64>) -> Phase {
    let precision = 1.0 / memory.resolutions(&direction);
    let search = LineSearch::new(cost, OPENING).refined(precision, REFINEMENTS);
    Phase::Line(Box::new(Line { search, direction, number }))
}

impl AskTell for Powell {
    fn ask(&self) -> Vec<Parameters> {
        self.memory.unknown(self.needed_points())
    }

    fn tell(&mut self, costs: &[f64]) {
        let asked = self.ask();
        self.memory.learn(asked.into_iter().zip(costs.iter().copied()));
        self.proceed();
    }

    fn found(&self) -> Candidate {
        // Returns the best point that was evaluated. It does not return the current point, because the cost of this
        // point may be that of a nearby point.
        self.memory.best().unwrap_or(Candidate { parameters: self.point, cost: 1.0 })
    }
}

/// Minimises the cost from every start by Powell's method on the resolution level with voxels of `mm`. The set of
/// search directions begins as `directions`, and each search changes its own set. All searches run in lockstep.
pub(crate) fn minimise(
    starts: &[Parameters],
    directions: &[Direction],
    mm: f64,
    evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<Candidate>, Error> {
    let mut searches: Vec<Powell> = starts.iter().map(|start| Powell::new(*start, directions, mm)).collect();
    lockstep::run(&mut searches, evaluate)
}

#[cfg(test)]
mod tests;
