//! FLIRT's local optimiser: line searches along one direction after the other (Jenkinson & Smith 2001), for many
//! starts in lockstep.

use crate::Error;
use crate::line_search::LineSearch;
use crate::lockstep::{self, AskTell, Candidate};
use crate::parameters::{Direction, Parameters, along};

/// Distance from the start of a line search to its first two evaluations, one on either side; in units of the
/// parameters' tolerances.
const OPENING: f64 = 10.0;

/// Largest number of sweeps, as in FLIRT. A sweep is one line search along each direction.
pub(crate) const SWEEPS: usize = 4;

/// State of a coordinate search from one start. The search minimises the cost along one direction after the other, in
/// repeated sweeps.
#[derive(Debug, Clone)]
struct Walk<'a> {
    directions: &'a [Direction],
    point: Parameters,
    cost: Option<f64>,
    line: LineSearch,
    /// Distance that the search moved along each direction in its last line search there, in units of the parameters'
    /// tolerances.
    moves: Vec<f64>,
    direction: usize,
    sweeps_left: usize,
}

impl<'a> Walk<'a> {
    fn new(point: Parameters, directions: &'a [Direction], sweeps: usize) -> Walk<'a> {
        let line = LineSearch::new(None, OPENING);
        let moves = vec![OPENING; directions.len()];
        Walk { directions, point, cost: None, line, moves, direction: 0, sweeps_left: sweeps }
    }

    fn done(&self) -> bool {
        self.sweeps_left == 0
    }
}

impl AskTell for Walk<'_> {
    fn ask(&self) -> Vec<Parameters> {
        if self.done() {
            return Vec::new();
        }
        let direction = &self.directions[self.direction];
        self.line.ask().iter().map(|distance| along(&self.point, direction, *distance)).collect()
    }

    fn tell(&mut self, costs: &[f64]) {
        self.line.tell(costs);
        // If a line search needs no more costs, it has ended, and the search along the next direction begins.
        while self.line.ask().is_empty() && !self.done() {
            let best = self.line.best();
            self.point = along(&self.point, &self.directions[self.direction], best.at);
            self.cost = Some(best.cost);
            self.moves[self.direction] = best.at.abs();
            self.direction += 1;
            if self.direction == self.directions.len() {
                self.direction = 0;
                let settled = self.moves.iter().sum::<f64>() < self.moves.len() as f64;
                self.sweeps_left = if settled { 0 } else { self.sweeps_left - 1 };
            }
            let opening = (2.0 * self.moves[self.direction]).clamp(1.0, OPENING);
            self.line = LineSearch::new(self.cost, opening);
        }
    }

    fn found(&self) -> Candidate {
        Candidate { parameters: self.point, cost: self.cost.unwrap_or(1.0) }
    }
}

/// Minimises the cost from every start by line searches along the directions, in at most `sweeps` sweeps. All searches
/// run in lockstep.
pub(crate) fn descend(
    starts: &[Parameters],
    directions: &[Direction],
    sweeps: usize,
    evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<Candidate>, Error> {
    let mut walks: Vec<Walk> = starts.iter().map(|start| Walk::new(*start, directions, sweeps)).collect();
    lockstep::run(&mut walks, evaluate)
}

#[cfg(test)]
mod tests;
