//! Newton's method with finite differences, as a local optimiser.
//!
//! Line searches along one parameter after the other converge slowly if the parameters are correlated. Here one batch
//! of costs around the point gives the gradient and the curvature, and a second batch gives the costs along the Newton
//! step. Coordinates are in units of the parameters' tolerances.
//!
//! Near the minimum, a cost from a joint histogram may be as sharp as a cone. The finite differences of a cone give a
//! wrong curvature, so that the cost rises along the Newton step. Then damped steps of a few lengths follow (Levenberg
//! 1944; Marquardt 1963), and then smaller finite differences.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::Error;
use crate::lockstep::{self, AskTell, Candidate};
use crate::parameters::{Direction, Parameters};

/// First step of the finite differences by which a Newton search measures gradient and curvature, in units of the
/// parameters' tolerances.
const STEP: f64 = 1.0;

/// Smallest step of the finite differences by which a Newton search measures gradient and curvature, in units of the
/// parameters' tolerances.
const SMALLEST_STEP: f64 = 0.25;

/// Longest Newton step along any direction, in units of the parameters' tolerances.
const LONGEST: f64 = 15.0;

/// The Newton step is multiplied by these factors, and the cost is evaluated at the ends of the resulting steps.
const LENGTHS: [f64; 4] = [0.3, 0.7, 1.0, 1.4];

/// Lengths of the damped steps, in units of the step of the finite differences.
const DAMPED: [f64; 4] = [0.25, 0.5, 1.0, 2.0];

/// Smallest allowed curvature, as a share of the largest curvature. Smaller curvatures are raised to this limit.
const LEAST_CURVATURE: f64 = 1e-4;

/// Number of bisections with which the damping is found that gives a step the wanted length.
const BISECTIONS: usize = 40;

/// The Newton search ends after a step that is shorter than this along every search direction, in units of the
/// parameters' tolerances: if it ends after a rejected step, and if it continues.
const SETTLED: [f64; 2] = [0.1, 0.02];

/// The search ends if the predicted gain of a step is below this share of the cost.
const LEAST_GAIN: f64 = 2e-6;

/// Matrix of the second derivatives of the cost. The unit of length is the parameters' tolerance on the level where the
/// derivatives were measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curvature(DMatrix<f64>);

impl Curvature {
    /// Whether this curvature, from another level, can be that of a search along this many directions near a minimum:
    /// whether the cost rises in all directions.
    fn suits(&self, directions: usize) -> bool {
        self.0.nrows() == directions && self.0.clone().cholesky().is_some()
    }
}

/// The cost at a set of transform parameters, with its first and second derivatives along the search directions.
struct Slopes {
    cost: f64,
    gradient: DVector<f64>,
    hessian: DMatrix<f64>,
}

/// The phases of a Newton search. The phase tells for which points the search needs costs next.
#[derive(Debug, Clone)]
enum Phase {
    /// The search needs the costs of points around the current point, for the gradient and the curvature of the cost by
    /// finite differences.
    Around,
    /// The search needs costs at several points along the Newton step `step`. `gradient` is the gradient of the cost at
    /// the point where this step starts.
    Along {
        step: DVector<f64>,
        gradient: DVector<f64>,
    },
    /// The Newton step did not lower the cost, so the search needs costs at the ends of these damped Newton steps,
    /// which are shorter.
    Damped(Vec<DVector<f64>>),
    Done,
}

/// What the search does after a Newton step along which the cost is nowhere lower than at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The Newton search ends when the cost is nowhere lower along a Newton step.
    Ends,
    /// The Newton search goes on when the cost is nowhere lower along a Newton step: first with damped, shorter steps,
    /// then with smaller finite differences. It ends if the cost is nowhere lower with the smallest finite differences.
    Continues,
}

/// State of a Newton search from one start: its current point, the cost there, and the derivatives of the cost.
#[derive(Debug, Clone)]
pub(crate) struct Newton<'a> {
    directions: &'a [Direction],
    point: Parameters,
    cost: Option<f64>,
    curvature: Option<Curvature>,
    /// The last step of the Newton search, and the gradient of the cost at the point where this step started.
    last: Option<(DVector<f64>, DVector<f64>)>,
    phase: Phase,
    steps_left: usize,
    rejected: Rejected,
    /// Step of the finite differences by which gradient and curvature are measured, in units of the parameters'
    /// tolerances.
    reach: f64,
    /// The point with the lowest cost among the points at which the last finite differences evaluated the cost. It is
    /// kept only if its cost is lower than at the current point, and if the search continues after rejected steps.
    beside: Option<Nearby>,
}

/// A point near the current point of a Newton search, and the cost at this point.
#[derive(Debug, Clone)]
struct Nearby {
    /// Offset of this point from the search's current point along each search direction, in units of the parameters'
    /// tolerances.
    offset: DVector<f64>,
    cost: f64,
}

impl<'a> Newton<'a> {
    /// Makes a search of at most `steps` Newton steps. If a curvature from a coarser level is `known` and positive, only
    /// the diagonal of the curvature matrix is measured.
    pub fn new(
        start: &Parameters,
        directions: &'a [Direction],
        steps: usize,
        known: Option<&Curvature>,
        rejected: Rejected,
    ) -> Newton<'a> {
        let curvature = known.filter(|known| known.suits(directions.len())).cloned();
        let phase = if steps > 0 { Phase::Around } else { Phase::Done };
        let (point, steps_left, reach) = (*start, steps, STEP);
        Newton {
            directions,
            point,
            cost: None,
            curvature,
            last: None,
            phase,
            steps_left,
            rejected,
            reach,
            beside: None,
        }
    }

    /// The curvature (second derivatives) of the cost at the search's current point; `None` before the curvature has
    /// been measured.
    pub fn curvature(&self) -> Option<&Curvature> {
        self.curvature.as_ref()
    }

    /// Computes the Newton step from the costs at the current point and around it, which give the gradient and the
    /// curvature.
    fn set_out(&mut self, costs: &[f64]) {
        let offsets = self.stencil();
        let Slopes { cost, gradient, mut hessian } =
            slopes(self.directions.len(), self.reach, self.curvature.as_ref(), costs);
        if let Some((step, before)) = &self.last {
            learn(&mut hessian, step, &(&gradient - before));
        }
        self.cost = Some(cost);
        if self.rejected == Rejected::Continues {
            self.beside = self.lowest(&offsets, costs);
        }
        let step = newton_step(&hessian, &gradient);
        self.curvature = Some(Curvature(hessian));
        if -0.5 * gradient.dot(&step) >= LEAST_GAIN * cost {
            self.phase = Phase::Along { step, gradient };
        } else if let Some(beside) = self.beside.take() {
            self.go(&beside);
            self.look_closer();
        }
    }

    /// Moves the search to the point with the lowest cost along the Newton step. If no cost is lower than at the start
    /// of the step, the search ends or tries shorter steps.
    fn advance(&mut self, step: DVector<f64>, gradient: DVector<f64>, costs: &[f64]) {
        let along = LENGTHS.map(|length| &step * length);
        let Some(lowest) = self.lowest(&along, costs) else {
            if self.rejected == Rejected::Continues && (step.amax() >= self.settled() || self.beside.is_some()) {
                self.phase = Phase::Damped(self.damped_steps(&gradient));
            }
            return;
        };
        if let Some(beside) = self.beside.take_if(|beside| beside.cost < lowest.cost) {
            self.go(&beside);
            return self.look_closer();
        }
        self.go(&lowest);
        let goes_on = lowest.offset == along[LENGTHS.len() - 1] && self.rejected == Rejected::Continues;
        if self.steps_left > 0 && (goes_on || lowest.offset.amax() >= self.settled()) {
            self.phase = Phase::Around;
            self.last = Some((lowest.offset, gradient));
        }
    }

    /// Length of the last step, in units of the parameters' tolerances.
    fn settled(&self) -> f64 {
        SETTLED[usize::from(self.rejected == Rejected::Continues)]
    }

    /// Moves the search to the point with the lowest cost among the ends of the damped (shortened) Newton steps and the
    /// last points of the finite differences. If the cost is nowhere lower than at the current point, the search stays
    /// there.
    fn shorten(&mut self, steps: &[DVector<f64>], costs: &[f64]) {
        let beside = self.beside.take();
        match self.lowest(steps, costs).into_iter().chain(beside).min_by(|a, b| a.cost.total_cmp(&b.cost)) {
            Some(lowest) => self.go(&lowest),
            None if self.reach <= SMALLEST_STEP => return,
            None => self.steps_left -= 1,
        }
        self.look_closer();
    }

    /// Continues the Newton search with finite differences of half the step size (but not below a limit), unless the
    /// largest number of Newton steps has been reached.
    fn look_closer(&mut self) {
        if self.steps_left > 0 {
            self.phase = Phase::Around;
            self.reach = (0.5 * self.reach).max(SMALLEST_STEP);
            // The change of the gradient along a step updates the curvature. Gradients from finite differences of two
            // step sizes cannot be compared, so the last gradient is not used any more.
            self.last = None;
        }
    }

    /// Of the points at the given offsets from the search's current point, the point with the lowest cost; `None` if
    /// none has a lower cost than the current point.
    fn lowest(&self, offsets: &[DVector<f64>], costs: &[f64]) -> Option<Nearby> {
        let nearby = offsets.iter().zip(costs).min_by(|a, b| a.1.total_cmp(b.1));
        let (offset, cost) = nearby.filter(|(_, cost)| self.cost.is_some_and(|own| **cost < own))?;
        Some(Nearby { offset: offset.clone(), cost: *cost })
    }

    /// Moves the Newton search to a point near its current point. This counts as one of its allowed steps.
    fn go(&mut self, to: &Nearby) {
        self.point = moved(&self.point, self.directions, &to.offset);
        self.cost = Some(to.cost);
        self.steps_left -= 1;
    }

    /// Offsets, from the search's current point, of the points whose costs are needed for the gradient and the
    /// curvature by finite differences.
    fn stencil(&self) -> Vec<DVector<f64>> {
        stencil(self.directions.len(), self.reach, self.curvature.is_none())
    }

    /// Damped Newton steps; their lengths are [`DAMPED`], in units of the step of the finite differences.
    fn damped_steps(&self, gradient: &DVector<f64>) -> Vec<DVector<f64>> {
        let step = |length| Some(damped_step(&self.curvature.as_ref()?.0, gradient, length * self.reach));
        DAMPED.into_iter().filter_map(step).collect()
    }
}

impl AskTell for Newton<'_> {
    fn ask(&self) -> Vec<Parameters> {
        let offsets = match &self.phase {
            Phase::Around => self.stencil(),
            Phase::Along { step, .. } => LENGTHS.map(|length| step * length).to_vec(),
            Phase::Damped(steps) => steps.clone(),
            Phase::Done => Vec::new(),
        };
        offsets.iter().map(|offset| moved(&self.point, self.directions, offset)).collect()
    }

    fn tell(&mut self, costs: &[f64]) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Around => self.set_out(costs),
            Phase::Along { step, gradient } => self.advance(step, gradient, costs),
            Phase::Damped(steps) => self.shorten(&steps, costs),
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
    rejected: Rejected,
    evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<(Candidate, Option<Curvature>)>, Error> {
    let search = |start| Newton::new(start, directions, steps, known, rejected);
    let mut searches: Vec<Newton> = starts.iter().map(search).collect();
    let found = lockstep::run(&mut searches, evaluate)?;
    let curvatures = searches.iter().map(|search| search.curvature().cloned());
    let mut polished: Vec<_> = found.into_iter().zip(curvatures).collect();
    polished.sort_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
    Ok(polished)
}

/// Gradient and curvature of the cost at a point, from the costs at this point and at its neighbours. If a curvature is
/// `known` from another level, only the diagonal of the curvature matrix is measured.
fn slopes(count: usize, reach: f64, known: Option<&Curvature>, costs: &[f64]) -> Slopes {
    let gradient = DVector::from_fn(count, |i, _| (costs[1 + 2 * i] - costs[2 + 2 * i]) / (2.0 * reach));
    let diagonal =
        DVector::from_fn(count, |i, _| (costs[1 + 2 * i] + costs[2 + 2 * i] - 2.0 * costs[0]) / (reach * reach));
    let hessian = match known {
        None => measured(costs, reach, &diagonal),
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
fn stencil(count: usize, reach: f64, pairs: bool) -> Vec<DVector<f64>> {
    let single = |i: usize, sign: f64| unit(count, i, sign * reach);
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
fn measured(costs: &[f64], reach: f64, diagonal: &DVector<f64>) -> DMatrix<f64> {
    let count = diagonal.len();
    let mut hessian = DMatrix::from_diagonal(diagonal);
    for (pair, (i, j)) in diagonals(count).enumerate() {
        let both = costs[1 + 2 * count + 2 * pair] + costs[2 + 2 * count + 2 * pair] - 2.0 * costs[0];
        let mixed = 0.5 * (both / (reach * reach) - diagonal[i] - diagonal[j]);
        hessian[(i, j)] = mixed;
        hessian[(j, i)] = mixed;
    }
    hessian
}

/// Scales a known matrix of second derivatives of the cost so that its diagonal becomes the measured one. The
/// correlations between the search directions stay as they are in the known matrix.
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
    let Some(Axes { vectors, curvatures, along }) = axes(hessian, gradient) else {
        return DVector::zeros(gradient.len());
    };
    let step = -vectors * along.component_div(&curvatures);
    let longest = step.amax();
    if longest > LONGEST { step * (LONGEST / longest) } else { step }
}

/// The damped step −(H + λ·1)⁻¹·g with a longest component of `length`, or the Newton step if that is shorter. All
/// curvatures are made positive.
fn damped_step(hessian: &DMatrix<f64>, gradient: &DVector<f64>, length: f64) -> DVector<f64> {
    let Some(Axes { vectors, curvatures, along }) = axes(hessian, gradient) else {
        return DVector::zeros(gradient.len());
    };
    let step =
        |damping: f64| -&vectors * along.zip_map(&curvatures, |along, curvature| along / (curvature + damping));
    // The damping is added to every curvature. With this damping (the start value of `most`), the damped Newton step is
    // certainly shorter than `length`.
    let (mut least, mut most) = (0.0, along.norm() / length);
    if step(least).amax() <= length {
        return step(least);
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (least + most);
        *(if step(middle).amax() > length { &mut least } else { &mut most }) = middle;
    }
    step(most)
}

/// The principal axes of a curvature matrix, as columns, with the curvature along each axis, made positive, and the
/// component of the gradient along each axis.
struct Axes {
    vectors: DMatrix<f64>,
    curvatures: DVector<f64>,
    along: DVector<f64>,
}

/// The principal axes of a curvature matrix; `None` if all curvatures are 0.
fn axes(hessian: &DMatrix<f64>, gradient: &DVector<f64>) -> Option<Axes> {
    let SymmetricEigen { eigenvalues, eigenvectors: vectors } = SymmetricEigen::new(hessian.clone());
    let floor = LEAST_CURVATURE * eigenvalues.amax();
    let along = vectors.transpose() * gradient;
    (floor > 0.0).then(|| Axes { vectors, curvatures: eigenvalues.map(|value| value.abs().max(floor)), along })
}

#[cfg(test)]
mod tests;
