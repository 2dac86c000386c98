//! A line search as a state machine that asks for costs, so that many line searches are evaluated in one batch.
//!
//! First the cost is evaluated on both sides of the start. Then the bracket around the minimum grows towards the side
//! with the lower cost by the factor 1.6, and shrinks by parabolic interpolation. Distances are in units of the
//! parameters' tolerances.

/// Factor by which a bracket around a minimum grows.
const GROWTH: f64 = 1.6;

/// Largest number of times that a bracket around a minimum grows.
const MOST_GROWTH: usize = 8;

/// Default for the largest number of parabolas that are fitted to a bracket.
const MOST_REFINEMENTS: usize = 4;

/// Default precision of a line search. It ends when the vertex of the fitted parabola is closer than this to the middle
/// of the bracket, in units of the parameters' tolerances.
const PRECISION: f64 = 0.5;

/// A position on the search line and the cost there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Probe {
    pub at: f64,
    pub cost: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// First phase of a line search: the cost is evaluated on both sides of the start, and at the start itself if its
    /// cost is unknown.
    Opening,
    /// Second phase of a line search: the bracket (three positions around the minimum) is extended, because the cost
    /// still falls towards one side.
    Growing,
    /// Third phase of a line search: the bracket (three positions on the line) contains a minimum, because the cost in
    /// the middle is no higher than at either end. The bracket is made smaller.
    Closing,
    Done,
}

/// State of a search along a line, for the minimum nearest to position 0.
#[derive(Debug, Clone)]
pub(crate) struct LineSearch {
    phase: Phase,
    steps: usize,
    /// Bracket: three positions on the search line with their costs, in ascending order of position. While the bracket
    /// shrinks, the middle position has the lowest cost.
    bracket: [Probe; 3],
    asked: Vec<f64>,
    start_known: bool,
    precision: f64,
    refinements: usize,
}

impl LineSearch {
    /// Makes a line search that starts at position 0. `cost` is the cost there, if it is known. The first positions to
    /// be evaluated are ± `opening`.
    pub fn new(cost: Option<f64>, opening: f64) -> LineSearch {
        let start = Probe { at: 0.0, cost: cost.unwrap_or(f64::INFINITY) };
        let mut asked = vec![-opening, opening];
        if cost.is_none() {
            asked.push(0.0);
        }
        LineSearch {
            phase: Phase::Opening,
            steps: 0,
            bracket: [start; 3],
            asked,
            start_known: cost.is_some(),
            precision: PRECISION,
            refinements: MOST_REFINEMENTS,
        }
    }

    /// A copy of this line search with another precision and another largest number of parabolas.
    pub fn refined(self, precision: f64, refinements: usize) -> LineSearch {
        LineSearch { precision, refinements, ..self }
    }

    /// The positions on the search line at which the search needs the cost next; empty if the search has ended.
    pub fn ask(&self) -> &[f64] {
        &self.asked
    }

    /// Receives the costs at the positions on the line that [`LineSearch::ask`] returned, in the same order.
    pub fn tell(&mut self, costs: &[f64]) {
        let probe = |index: usize| Probe { at: self.asked[index], cost: costs[index] };
        match self.phase {
            Phase::Opening => {
                let middle = if self.start_known { self.bracket[1] } else { probe(2) };
                self.bracket = [probe(0), middle, probe(1)];
                self.phase = Phase::Growing;
            }
            Phase::Growing => {
                let [low, middle, high] = self.bracket;
                let found = probe(0);
                self.bracket = if found.at > high.at { [middle, high, found] } else { [found, low, middle] };
            }
            Phase::Closing => self.bracket = closed(self.bracket, probe(0)),
            Phase::Done => {}
        }
        self.next();
    }

    /// The position on the search line with the lowest cost that this line search has found so far.
    pub fn best(&self) -> Probe {
        self.bracket
            .into_iter()
            .fold(self.bracket[1], |best, probe| if probe.cost < best.cost { probe } else { best })
    }

    fn next(&mut self) {
        let [low, middle, high] = self.bracket;
        self.asked.clear();
        if self.phase == Phase::Growing {
            if middle.cost <= low.cost && middle.cost <= high.cost {
                self.phase = Phase::Closing;
                self.steps = 0;
            } else if self.steps < MOST_GROWTH {
                self.steps += 1;
                let (from, to) = if low.cost < high.cost { (middle, low) } else { (middle, high) };
                self.asked.push(to.at + GROWTH * (to.at - from.at));
                return;
            } else {
                self.phase = Phase::Done;
            }
        }
        if self.phase == Phase::Closing {
            let vertex = vertex(self.bracket);
            if self.steps < self.refinements && (vertex - middle.at).abs() > self.precision {
                self.steps += 1;
                self.asked.push(vertex);
            } else {
                self.phase = Phase::Done;
            }
        }
    }
}

/// Returns the new bracket (three positions around a minimum) after an evaluation inside `[low, middle, high]`: the
/// smaller bracket around the position with the lowest cost.
fn closed([low, middle, high]: [Probe; 3], found: Probe) -> [Probe; 3] {
    match (found.at < middle.at, found.cost < middle.cost) {
        (true, true) => [low, found, middle],
        (true, false) => [found, middle, high],
        (false, true) => [middle, found, high],
        (false, false) => [low, middle, found],
    }
}

/// The position of the minimum of the parabola through the three points of the bracket. In a bracket around a minimum,
/// this position is at most half as far from the middle as the end of the bracket is.
fn vertex([low, middle, high]: [Probe; 3]) -> f64 {
    let (left, right) = (middle.at - low.at, high.at - middle.at);
    let (rise_left, rise_right) = (low.cost - middle.cost, high.cost - middle.cost);
    let (slope, curvature) =
        (rise_right * left * left - rise_left * right * right, rise_right * left + rise_left * right);
    // If the curvature of the parabola is not positive, the cost is flat on both sides, and the middle of the bracket
    // is returned.
    let shift = if curvature > 0.0 { -0.5 * slope / curvature } else { 0.0 };
    middle.at + shift
}

#[cfg(test)]
mod tests;
