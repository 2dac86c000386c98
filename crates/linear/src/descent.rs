//! Steepest descent, the optimiser of Sun 2010: line searches along the negative gradient, which is measured by
//! finite differences.

use crate::Error;
use crate::line_search::LineSearch;
use crate::lockstep::{self, AskTell, Candidate};
use crate::parameters::{Direction, Parameters, along};

/// Step of the finite differences by which steepest descent measures the gradient of the cost, in units of the
/// parameters' tolerances.
const STEP: f64 = 1.0;

/// Distance from the start of a line search to its first evaluations, in units of the parameters' tolerances: the value
/// for the first line search, and the upper limit for later line searches.
const OPENING: f64 = 10.0;

/// The steepest descent ends after a step shorter than this, in units of the parameters' tolerances.
const SETTLED: f64 = 0.1;

/// Largest number of parabolas fitted in one line search.
const REFINEMENTS: usize = 6;

/// Largest number of gradients that one steepest descent computes. If parameters are correlated, successive steps
/// alternate in direction and many gradients are needed.
const STEPS: usize = 60;

/// Smallest gain of a step, as a share of the cost. The search ends after a step with a smaller gain.
const LEAST_GAIN: f64 = 1e-6;

/// The phases of a steepest descent. The phase tells for which points the search needs costs next.
#[derive(Debug, Clone)]
enum Phase {
    /// The search needs costs at the current point and on both sides of it along each direction, from which the
    /// gradient is computed by finite differences.
    Around,
    /// The search needs costs on a line along the negative gradient; the line's direction has the length of one
    /// parameter tolerance.
    Down {
        line: LineSearch,
        down: Direction,
    },
    Done,
}

/// State of a steepest descent from one start.
#[derive(Debug, Clone)]
struct Descent<'a> {
    directions: &'a [Direction],
    point: Parameters,
    cost: Option<f64>,
    opening: f64,
    phase: Phase,
    steps_left: usize,
}

impl Descent<'_> {
    /// Prepares the line search along the negative gradient. The gradient is computed from the costs of points around
    /// the current point.
    fn set_out(&self, costs: &[f64]) -> Phase {
        // `costs[0]` is the cost of the current point, unless the search already knew that cost. The other entries are
        // the costs on both sides of the current point along each search direction.
        let (here, sides) = match self.cost {
            Some(cost) => (cost, costs),
            None => (costs[0], &costs[1..]),
        };
        // The direction of the gradient is enough, so the differences are not divided by their step.
        let slopes: Vec<f64> = sides.chunks_exact(2).map(|pair| pair[0] - pair[1]).collect();
        let length = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
        if length <= 0.0 || !length.is_finite() {
            return Phase::Done;
        }
        let down = std::array::from_fn(|i| {
            -self.directions.iter().zip(&slopes).map(|(direction, slope)| slope * direction[i]).sum::<f64>() / length
        });
        Phase::Down { line: LineSearch::new(Some(here), self.opening).refined(0.5 * SETTLED, REFINEMENTS), down }
    }

    /// Moves the steepest descent to the minimum that its line search found. Returns the next phase: another gradient,
    /// or the end of the search.
    fn arrived(&mut self, line: &LineSearch, down: &Direction) -> Phase {
        let best = line.best();
        let gain = self.cost.map_or(f64::INFINITY, |cost| cost - best.cost);
        self.point = along(&self.point, down, best.at);
        self.cost = Some(best.cost);
        self.steps_left -= 1;
        self.opening = (2.0 * best.at.abs()).clamp(4.0 * SETTLED, OPENING);
        let settled = best.at.abs() < SETTLED || gain < LEAST_GAIN * best.cost.abs();
        if settled || self.steps_left == 0 { Phase::Done } else { Phase::Around }
    }
}

impl AskTell for Descent<'_> {
    fn ask(&self) -> Vec<Parameters> {
        match &self.phase {
            Phase::Around => {
                let itself = self.cost.is_none().then_some(self.point);
                let sides = self.directions.iter().flat_map(|direction| [STEP, -STEP].map(|side| (direction, side)));
                itself.into_iter().chain(sides.map(|(direction, side)| along(&self.point, direction, side))).collect()
            }
            Phase::Down { line, down } => {
                line.ask().iter().map(|distance| along(&self.point, down, *distance)).collect()
            }
            Phase::Done => Vec::new(),
        }
    }

    fn tell(&mut self, costs: &[f64]) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Around => {
                let next = self.set_out(costs);
                self.cost = self.cost.or(costs.first().copied());
                next
            }
            Phase::Down { mut line, down } => {
                line.tell(costs);
                if line.ask().is_empty() { self.arrived(&line, &down) } else { Phase::Down { line, down } }
            }
            Phase::Done => Phase::Done,
        };
    }

    fn found(&self) -> Candidate {
        Candidate { parameters: self.point, cost: self.cost.unwrap_or(1.0) }
    }
}

/// Minimises the cost from every start by steepest descent. All searches run in lockstep.
pub(crate) fn minimise(
    starts: &[Parameters],
    directions: &[Direction],
    evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<Candidate>, Error> {
    let search = |start: &Parameters| Descent {
        directions,
        point: *start,
        cost: None,
        opening: OPENING,
        phase: Phase::Around,
        steps_left: STEPS,
    };
    lockstep::run(&mut starts.iter().map(search).collect::<Vec<_>>(), evaluate)
}

#[cfg(test)]
mod tests;
