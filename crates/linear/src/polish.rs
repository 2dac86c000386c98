//! Newton's method with differences instead of derivatives: every start in the right valley ends at its bottom.
//!
//! Coordinate-wise search stops short where the valley is oblique to the parameters. Here a batch of costs around the
//! point gives gradient and curvature, a second one looks along the step. Coordinates are in tolerances.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::Error;
use crate::coordinate_search::Candidate;
use crate::parameters::{Direction, Parameters};

/// Distance of the differences, tolerances.
const STEP: f64 = 1.0;

/// Longest move along any direction at once, tolerances.
const LONGEST: f64 = 15.0;

/// Parts of the Newton step that are looked at.
const LENGTHS: [f64; 4] = [0.3, 0.7, 1.0, 1.4];

/// Curvatures below this share of the greatest are not trusted.
const LEAST_CURVATURE: f64 = 1e-4;

/// A move of no direction by more than this ends the search, tolerances.
const SETTLED: f64 = 0.1;

/// So does the promise of a gain below this share of the cost.
const LEAST_GAIN: f64 = 2e-6;

/// Second derivatives by tolerances of the level they were made at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curvature(DMatrix<f64>);

/// First and second derivatives at a point.
struct Slopes {
    cost: f64,
    gradient: DVector<f64>,
    hessian: DMatrix<f64>,
}

/// Optimises along all directions together, at most `iterations` times. Curvature from a coarser level saves the
/// evaluations it takes to measure it.
pub(crate) fn polish(
    start: &Parameters,
    directions: &[Direction],
    iterations: usize,
    known: Option<&Curvature>,
    mut evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<(Candidate, Curvature), Error> {
    let mut point = *start;
    let mut costs_at = |point: &Parameters, offsets: &[DVector<f64>]| {
        let batch: Vec<Parameters> = offsets.iter().map(|offset| moved(point, directions, offset)).collect();
        evaluate(&batch)
    };
    let mut curvature = known.filter(|known| known.0.nrows() == directions.len()).cloned();
    let mut cost = f64::INFINITY;
    // The last step, and the gradient before it.
    let mut last: Option<(DVector<f64>, DVector<f64>)> = None;
    for _ in 0..iterations {
        let Slopes { cost: here, gradient, mut hessian } =
            measure(directions.len(), curvature.as_ref(), |offsets| costs_at(&point, offsets))?;
        if let Some((step, before)) = &last {
            learn(&mut hessian, step, &(&gradient - before));
        }
        cost = here;
        let step = newton_step(&hessian, &gradient);
        curvature = Some(Curvature(hessian));
        if -0.5 * gradient.dot(&step) < LEAST_GAIN * cost {
            break;
        }
        let line = LENGTHS.map(|length| &step * length);
        let along = costs_at(&point, &line)?;
        let lowest = (0..LENGTHS.len()).fold(0, |best, index| if along[index] < along[best] { index } else { best });
        if along[lowest] >= cost {
            break;
        }
        point = moved(&point, directions, &line[lowest]);
        cost = along[lowest];
        if line[lowest].amax() < SETTLED {
            break;
        }
        last = Some((line[lowest].clone(), gradient));
    }
    let curvature = curvature.unwrap_or_else(|| Curvature(DMatrix::identity(directions.len(), directions.len())));
    Ok((Candidate { parameters: point, cost }, curvature))
}

/// Differences to both sides; with `known` curvature only its diagonal is measured anew.
fn measure(
    count: usize,
    known: Option<&Curvature>,
    costs_at: impl FnOnce(&[DVector<f64>]) -> Result<Vec<f64>, Error>,
) -> Result<Slopes, Error> {
    let costs = costs_at(&stencil(count, known.is_none()))?;
    let gradient = DVector::from_fn(count, |i, _| (costs[1 + 2 * i] - costs[2 + 2 * i]) / (2.0 * STEP));
    let diagonal =
        DVector::from_fn(count, |i, _| (costs[1 + 2 * i] + costs[2 + 2 * i] - 2.0 * costs[0]) / (STEP * STEP));
    let hessian = match known {
        None => measured(&costs, &diagonal),
        Some(Curvature(known)) => rescaled(known, &diagonal),
    };
    Ok(Slopes { cost: costs[0], gradient, hessian })
}

fn moved(point: &Parameters, directions: &[Direction], offset: &DVector<f64>) -> Parameters {
    std::array::from_fn(|i| {
        point[i]
            + directions.iter().zip(offset.iter()).map(|(direction, distance)| distance * direction[i]).sum::<f64>()
    })
}

/// The point itself, both neighbours along each direction and, with `pairs`, both along each diagonal of two.
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

/// The matrix of second differences over a stencil with pairs.
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

/// Known curvature with the diagonal just measured: the directions keep their correlations.
fn rescaled(known: &DMatrix<f64>, diagonal: &DVector<f64>) -> DMatrix<f64> {
    let factor = DVector::from_fn(diagonal.len(), |i, _| {
        let ratio = diagonal[i] / known[(i, i)];
        if ratio.is_finite() && ratio > 0.0 { ratio.sqrt() } else { 1.0 }
    });
    DMatrix::from_fn(known.nrows(), known.ncols(), |i, j| factor[i] * known[(i, j)] * factor[j])
}

/// The update of Broyden, Fletcher, Goldfarb and Shanno: over the last step, the gradient changed by `change`.
fn learn(hessian: &mut DMatrix<f64>, step: &DVector<f64>, change: &DVector<f64>) {
    let predicted = &*hessian * step;
    let (measured, expected) = (step.dot(change), step.dot(&predicted));
    if measured > 0.1 * expected && expected > 0.0 {
        *hessian += change * change.transpose() / measured - &predicted * predicted.transpose() / expected;
    }
}

/// −H⁻¹·g with the curvatures kept positive, no longer than [`LONGEST`].
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
