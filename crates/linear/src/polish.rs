//! Newton's method with finite differences, as a local optimiser.
//!
//! Line searches along one parameter after the other converge slowly if the parameters are correlated. Here one batch
//! of costs around the point gives the gradient and the curvature, and a second batch gives the costs along the Newton
//! step. Coordinates are in units of the parameters' tolerances.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::Error;
use crate::lockstep::{self, AskTell, Candidate};
use crate::parameters::{Direction, Parameters};

/// Step of the finite differences, in units of the parameters' tolerances.
const STEP: f64 = 1.0;

/// Longest Newton step along any direction, in units of the parameters' tolerances.
const LONGEST: f64 = 15.0;

/// Fractions of the Newton step at which the cost is evaluated.
const LENGTHS: [f64; 4] = [0.3, 0.7, 1.0, 1.4];

/// Smallest allowed curvature, as a share of the largest curvature. Smaller curvatures are raised to this limit.
const LEAST_CURVATURE: f64 = 1e-4;

/// The search ends after a step shorter than this along every direction, in units of the parameters' tolerances.
const SETTLED: f64 = 0.1;

/// The search ends if the predicted gain of a step is below this share of the cost.
const LEAST_GAIN: f64 = 2e-6;

/// Matrix of the second derivatives of the cost. The unit of length is the parameters' tolerance on the level where the
/// derivatives were measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curvature(DMatrix<f64>);

/// The cost at a point with its first and second derivatives.
struct Slopes {
    cost: f64,
    gradient: DVector<f64>,
    hessian: DMatrix<f64>,
}

/// The phases of a Newton search. The phase tells for which points the search needs costs next.
#[derive(Debug, Clone)]
enum Phase {
    /// The search needs costs at points around the current point.
    Around,
    /// The search needs costs at points along the Newton step `step`. `gradient` is the gradient of the cost at the
    /// point where this step starts.
    Along {
        step: DVector<f64>,
        gradient: DVector<f64>,
    },
    Done,
}

/// State of a Newton search from one start.
#[derive(Debug, Clone)]
pub(crate) struct Newton<'a> {
    directions: &'a [Direction],
    point: Parameters,
    cost: Option<f64>,
    curvature: Option<Curvature>,
    /// The last Newton step, and the gradient at the point where the step started.
    last: Option<(DVector<f64>, DVector<f64>)>,
    phase: Phase,
    steps_left: usize,
}

impl<'a> Newton<'a> {
    /// Makes a search of at most `steps` Newton steps. If a curvature from a coarser level is `known`, only the
    /// diagonal of the curvature matrix is measured.
    pub fn new(
        start: &Parameters,
        directions: &'a [Direction],
        steps: usize,
        known: Option<&Curvature>,
    ) -> Newton<'a> {
        let curvature = known.filter(|known| known.0.nrows() == directions.len()).cloned();
        let phase = if steps > 0 { Phase::Around } else { Phase::Done };
        Newton { directions, point: *start, cost: None, curvature, last: None, phase, steps_left: steps }
    }

    /// The curvature at the current point; `None` before the curvature has been measured.
    pub fn curvature(&self) -> Option<&Curvature> {
        self.curvature.as_ref()
    }

    /// Computes the Newton step from the costs around the current point.
    fn set_out(&mut self, costs: &[f64]) {
        let Slopes { cost, gradient, mut hessian } = slopes(self.directions.len(), self.curvature.as_ref(), costs);
        if let Some((step, before)) = &self.last {
            learn(&mut hessian, step, &(&gradient - before));
        }
        self.cost = Some(cost);
        let step = newton_step(&hessian, &gradient);
        self.curvature = Some(Curvature(hessian));
        let worth_it = -0.5 * gradient.dot(&step) >= LEAST_GAIN * cost;
        self.phase = if worth_it { Phase::Along { step, gradient } } else { Phase::Done };
    }

    /// Moves to the point along the Newton step that has the lowest cost.
    fn advance(&mut self, step: &DVector<f64>, gradient: DVector<f64>, costs: &[f64]) {
        self.phase = Phase::Done;
        let lowest = (0..LENGTHS.len()).fold(0, |best, index| if costs[index] < costs[best] { index } else { best });
        if self.cost.is_some_and(|cost| costs[lowest] >= cost) {
            return;
        }
        let step = step * LENGTHS[lowest];
        self.point = moved(&self.point, self.directions, &step);
        self.cost = Some(costs[lowest]);
        self.steps_left -= 1;
        if self.steps_left > 0 && step.amax() >= SETTLED {
            self.phase = Phase::Around;
            self.last = Some((step, gradient));
        }
    }
}

impl AskTell for Newton<'_> {
    fn ask(&self) -> Vec<Parameters> {
        let offsets = match &self.phase {
            Phase::Around => stencil(self.directions.len(), self.curvature.is_none()),
            Phase::Along { step, .. } => LENGTHS.map(|length| step * length).to_vec(),
            Phase::Done => Vec::new(),
        };
        offsets.iter().map(|offset| moved(&self.point, self.directions, offset)).collect()
    }

    fn tell(&mut self, costs: &[f64]) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Around => self.set_out(costs),
            Phase::Along { step, gradient } => self.advance(&step, gradient, costs),
            Phase::Done => {}
        }
    }

    fn found(&self) -> Candidate {
        Candidate { parameters: self.point, cost: self.cost.unwrap_or(1.0) }
    }
}

/// Minimises the cost from every start by Newton steps. All searches run in lockstep. Returns the results, best first,
/// each with its last curvature matrix.
pub(crate) fn polish(
    starts: &[Parameters],
    directions: &[Direction],
    steps: usize,
    known: Option<&Curvature>,
    evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<(Candidate, Option<Curvature>)>, Error> {
    let mut searches: Vec<Newton> = starts.iter().map(|start| Newton::new(start, directions, steps, known)).collect();
    let found = lockstep::run(&mut searches, evaluate)?;
    let curvatures = searches.iter().map(|search| search.curvature().cloned());
    let mut polished: Vec<_> = found.into_iter().zip(curvatures).collect();
    polished.sort_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
    Ok(polished)
}

/// Gradient and curvature of the cost at a point, from the costs at this point and at its neighbours. If a curvature is
/// `known`, only the diagonal of the curvature matrix is measured.
fn slopes(count: usize, known: Option<&Curvature>, costs: &[f64]) -> Slopes {
    let gradient = DVector::from_fn(count, |i, _| (costs[1 + 2 * i] - costs[2 + 2 * i]) / (2.0 * STEP));
    let diagonal =
        DVector::from_fn(count, |i, _| (costs[1 + 2 * i] + costs[2 + 2 * i] - 2.0 * costs[0]) / (STEP * STEP));
    let hessian = match known {
        None => measured(costs, &diagonal),
        Some(Curvature(known)) => rescaled(known, &diagonal),
    };
    Slopes { cost: costs[0], gradient, hessian }
}

fn moved(point: &Parameters, directions: &[Direction], offset: &DVector<f64>) -> Parameters {
    std::array::from_fn(|i| {
        point[i]
            + directions.iter().zip(offset.iter()).map(|(direction, distance)| distance * direction[i]).sum::<f64>()
    })
}

/// Offsets of the points of the finite differences: the point itself, its two neighbours along each direction and, with
/// `pairs`, the two neighbours along the diagonal of each pair of directions.
fn stencil(count: usize, pairs: bool) -> Vec<DVector<f64>> {
    let single = |i: usize, sign: f64| unit(count, i, sign * STEP);
    let mut offsets = vec![DVector::zeros(count)];
    for i in 0..count {
        offsets.extend([single(i, 1.0), single(i, -1.0)]);
    }
    if pairs {
        for (i, j) in diagonals(count) {
            offsets.extend([single(i, 1.0) + single(j, 1.0), single(i, -1.0) + single(j, -1.0)]);
        }
    }
    offsets
}

fn unit(count: usize, direction: usize, length: f64) -> DVector<f64> {
    DVector::from_fn(count, |row, _| if row == direction { length } else { 0.0 })
}

fn diagonals(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)))
}

/// The matrix of the second derivatives of the cost, computed by finite differences. `costs` are the costs at a point,
/// at its neighbours along each direction, and at its neighbours along the diagonal of each pair of directions.
fn measured(costs: &[f64], diagonal: &DVector<f64>) -> DMatrix<f64> {
    let count = diagonal.len();
    let mut hessian = DMatrix::from_diagonal(diagonal);
    for (pair, (i, j)) in diagonals(count).enumerate() {
        let both = costs[1 + 2 * count + 2 * pair] + costs[2 + 2 * count + 2 * pair] - 2.0 * costs[0];
        let mixed = 0.5 * (both / (STEP * STEP) - diagonal[i] - diagonal[j]);
        hessian[(i, j)] = mixed;
        hessian[(j, i)] = mixed;
    }
    hessian
}

/// A known curvature matrix, scaled to the measured diagonal. The correlations between directions are kept.
fn rescaled(known: &DMatrix<f64>, diagonal: &DVector<f64>) -> DMatrix<f64> {
    let factor = DVector::from_fn(diagonal.len(), |i, _| {
        let ratio = diagonal[i] / known[(i, i)];
        if ratio.is_finite() && ratio > 0.0 { ratio.sqrt() } else { 1.0 }
    });
    DMatrix::from_fn(known.nrows(), known.ncols(), |i, j| factor[i] * known[(i, j)] * factor[j])
}

/// Updates the curvature matrix by the BFGS method (Broyden, Fletcher, Goldfarb, Shanno). `change` is the change of the
/// gradient along the last step.
fn learn(hessian: &mut DMatrix<f64>, step: &DVector<f64>, change: &DVector<f64>) {
    let predicted = &*hessian * step;
    let (measured, expected) = (step.dot(change), step.dot(&predicted));
    if measured > 0.1 * expected && expected > 0.0 {
        *hessian += change * change.transpose() / measured - &predicted * predicted.transpose() / expected;
    }
}

/// The Newton step −H⁻¹·g, with the matrix H of second derivatives and the gradient g. All curvatures are made
/// positive, and the step is shortened to at most [`LONGEST`].
fn newton_step(hessian: &DMatrix<f64>, gradient: &DVector<f64>) -> DVector<f64> {
    let eigen = SymmetricEigen::new(hessian.clone());
    let floor = LEAST_CURVATURE * eigen.eigenvalues.amax();
    if floor <= 0.0 {
        return DVector::zeros(gradient.len());
    }
    let mut along = eigen.eigenvectors.transpose() * gradient;
    along.iter_mut().zip(eigen.eigenvalues.iter()).for_each(|(part, value)| *part /= -value.abs().max(floor));
    let step = &eigen.eigenvectors * along;
    let longest = step.amax();
    if longest > LONGEST { step * (LONGEST / longest) } else { step }
}

#[cfg(test)]
mod tests;
