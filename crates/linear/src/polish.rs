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
const LENGTHS: [f64; 5] = [0.2, 0.5, 0.8, 1.1, 1.6];

/// Curvatures below this share of the greatest are not trusted.
const LEAST_CURVATURE: f64 = 1e-4;

/// A move of no direction by more than this ends the search, tolerances.
const SETTLED: f64 = 0.1;

/// Second derivatives by tolerances of the level they were made at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curvature(DMatrix<f64>);

/// Optimises along all directions together, at most `iterations` times. Curvature from a coarser level saves the
/// evaluations it takes to measure it.
pub(crate) fn polish(
    start: Candidate,
    directions: &[Direction],
    iterations: usize,
    known: Option<&Curvature>,
    mut evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<(Candidate, Curvature), Error> {
    let count = directions.len();
    let mut point = start.parameters;
    let mut curvature = known.map(|known| known.0.clone()).filter(|known| known.nrows() == count);
    let mut previous: Option<(DVector<f64>, DVector<f64>)> = None;
    let mut cost = start.cost;
    for _ in 0..iterations {
        let pairs = curvature.is_none();
        let offsets = stencil(count, pairs);
        let batch: Vec<Parameters> = offsets.iter().map(|offset| moved(&point, directions, offset)).collect();
        let costs = evaluate(&batch)?;
        cost = costs[0];
        let gradient = DVector::from_fn(count, |i, _| (costs[1 + 2 * i] - costs[2 + 2 * i]) / (2.0 * STEP));
        let diagonal =
            DVector::from_fn(count, |i, _| (costs[1 + 2 * i] + costs[2 + 2 * i] - 2.0 * costs[0]) / (STEP * STEP));
        let mut hessian = match curvature {
            None => measured(&costs, &diagonal),
            Some(known) => rescaled(known, &diagonal),
        };
        if let Some((step, before)) = &previous {
            learn(&mut hessian, step, &(&gradient - before));
        }
        let step = newton_step(&hessian, &gradient);
        curvature = Some(hessian);
        let line: Vec<Parameters> =
            LENGTHS.iter().map(|length| moved(&point, directions, &(&step * *length))).collect();
        let along = evaluate(&line)?;
        let (best, lowest) = along
            .iter()
            .enumerate()
            .fold((0, f64::INFINITY), |best, (index, cost)| if *cost < best.1 { (index, *cost) } else { best });
        if lowest >= cost {
            break;
        }
        let step = step * LENGTHS[best];
        point = line[best];
        cost = lowest;
        if step.amax() < SETTLED {
            break;
        }
        previous = Some((step, gradient));
    }
    let curvature = Curvature(curvature.unwrap_or_else(|| DMatrix::identity(count, count)));
    Ok((Candidate { parameters: point, cost }, curvature))
}

fn moved(point: &Parameters, directions: &[Direction], offset: &DVector<f64>) -> Parameters {
    std::array::from_fn(|i| {
        point[i]
            + directions.iter().zip(offset.iter()).map(|(direction, distance)| distance * direction[i]).sum::<f64>()
    })
}

/// The point itself, both neighbours along each direction and, with `pairs`, both along each diagonal of two.
fn stencil(count: usize, pairs: bool) -> Vec<DVector<f64>> {
    let single = |i: usize, sign: f64| DVector::from_fn(count, |row, _| if row == i { sign * STEP } else { 0.0 });
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
fn rescaled(known: DMatrix<f64>, diagonal: &DVector<f64>) -> DMatrix<f64> {
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
