//! The coarsest level: which way is the moving image turned?

use antsreg_kernels::Backend;
use nalgebra::Vector3;

use crate::compare::stretched;
use crate::coordinate_search::SWEEPS;
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION, SCALE, TRANSLATION};
use crate::pose::Pose;
use crate::{AngleSearch, Dof, Error};

/// Share of the fine angles that may be the beginning of a full optimisation.
const PROMISING_SHARE: f64 = 0.2;

/// Angles about the three axes at equal distances.
#[derive(Debug, Clone, PartialEq)]
struct AngleGrid {
    count: [usize; 3],
    first: [f64; 3],
    step: [f64; 3],
}

impl AngleGrid {
    fn new(angles: &AngleSearch, step_degrees: f64) -> AngleGrid {
        let count = angles.range_degrees.map(|range| (2.0 * range / step_degrees).round() as usize + 1);
        let range = angles.range_degrees.map(f64::to_radians);
        let single = |axis: usize| count[axis] == 1;
        AngleGrid {
            count,
            first: std::array::from_fn(|axis| if single(axis) { 0.0 } else { -range[axis] }),
            step: std::array::from_fn(
                |axis| {
                    if single(axis) { 1.0 } else { 2.0 * range[axis] / (count[axis] - 1) as f64 }
                },
            ),
        }
    }

    fn len(&self) -> usize {
        self.count.iter().product()
    }

    fn index(&self, number: usize) -> [usize; 3] {
        let [nx, ny, _] = self.count;
        [number % nx, number / nx % ny, number / nx / ny]
    }

    fn angles(&self, number: usize) -> [f64; 3] {
        let index = self.index(number);
        std::array::from_fn(|axis| self.first[axis] + self.step[axis] * index[axis] as f64)
    }

    /// Trilinear between the values at the angles of the grid.
    fn interpolate(&self, values: &[[f64; 3]], angles: [f64; 3]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for corner in 0..8usize {
            let (mut weight, mut number, mut stride) = (1.0, 0, 1);
            for axis in 0..3 {
                let last = (self.count[axis] - 1) as f64;
                let position = ((angles[axis] - self.first[axis]) / self.step[axis]).clamp(0.0, last);
                let low = position.floor().min((last - 1.0).max(0.0));
                let upper = corner >> axis & 1;
                weight *= if upper == 1 { position - low } else { 1.0 - (position - low) };
                number += (low as usize + upper).min(self.count[axis] - 1) * stride;
                stride *= self.count[axis];
            }
            (0..3).for_each(|component| sum[component] += weight * values[number][component]);
        }
        sum
    }

    /// Which entries are no higher than all of their up to 26 neighbours.
    fn minima(&self, costs: &[f64]) -> Vec<usize> {
        let [nx, ny, _] = self.count;
        let near = |i: usize, n: usize| i.saturating_sub(1)..(i + 2).min(n);
        let lowest = |number: &usize| {
            let [i, j, k] = self.index(*number);
            near(k, self.count[2])
                .all(|c| near(j, ny).all(|b| near(i, nx).all(|a| costs[a + nx * (b + ny * c)] >= costs[*number])))
        };
        (0..self.len()).filter(lowest).collect()
    }
}

/// Candidates from the whole range of angles, each optimised over at most seven degrees of freedom, best first.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    angles: &AngleSearch,
    poses: &[Pose; 2],
) -> Result<Vec<Candidate>, Error> {
    let costs = |batch: &[Parameters]| level.costs(frame, batch);
    let mut angles = *angles;
    // What is not turned about an axis is not searched about it.
    (0..3).filter(|axis| !frame.turns().contains(axis)).for_each(|axis| angles.range_degrees[axis] = 0.0);
    let coarse_grid = AngleGrid::new(&angles, angles.coarse_step_degrees);
    let starts: Vec<Parameters> = (0..coarse_grid.len()).map(|number| turned(coarse_grid.angles(number))).collect();
    let coarse = level.optimise_along(frame, &starts, &frame.translations_and_scale(dof, level.mm), SWEEPS)?;
    let scale = median(coarse.iter().map(|candidate| candidate.parameters[SCALE]).collect());
    let translations: Vec<[f64; 3]> =
        coarse.iter().map(|candidate| std::array::from_fn(|i| candidate.parameters[TRANSLATION + i])).collect();

    let fine_grid = AngleGrid::new(&angles, angles.fine_step_degrees);
    let fine: Vec<Parameters> = (0..fine_grid.len())
        .map(|number| {
            let mut parameters = turned(fine_grid.angles(number));
            let shift = coarse_grid.interpolate(&translations, fine_grid.angles(number));
            parameters[TRANSLATION..SCALE].copy_from_slice(&shift);
            parameters[frame.scales()].fill(scale);
            parameters
        })
        .collect();
    let mut starts = minima(&fine_grid, &fine, &costs(&fine)?);
    if dof >= Dof::Scales9 {
        // A stretch may hide the right orientation from those that only know one scale.
        let stretches: Vec<Parameters> =
            fine.iter().map(|turned| stretched(frame, poses, turned, dof).unwrap_or(*turned)).collect();
        starts.extend(minima(&fine_grid, &stretches, &costs(&stretches)?));
    }
    if angles.principal_axes {
        starts.extend(principal(frame, poses, dof, scale));
    }
    let mut found = level.optimise(frame, &starts, dof.min(Dof::Similarity7))?;
    best_first(&mut found);
    Ok(found)
}

/// The parameters at the angles of the grid that are promising and no worse than their neighbours.
fn minima(grid: &AngleGrid, parameters: &[Parameters], costs: &[f64]) -> Vec<Parameters> {
    let limit = promising(costs);
    let lowest = grid.minima(costs).into_iter().filter(|number| costs[*number] <= limit);
    lowest.map(|number| parameters[number]).collect()
}

/// The start, turned.
fn turned(angles: [f64; 3]) -> Parameters {
    let mut parameters = IDENTITY;
    parameters[ROTATION..TRANSLATION].copy_from_slice(&angles);
    parameters
}

/// The orientations in which the principal axes of both images coincide, at the given scale and, if scales may differ,
/// also stretched to one extent.
fn principal(frame: &Frame, [fixed, moving]: &[Pose; 2], dof: Dof, scale: f64) -> Vec<Parameters> {
    let mut maps = moving.maps_to(fixed, &Vector3::from_element(scale)).to_vec();
    if dof >= Dof::Scales9 {
        maps.extend(moving.maps_to(fixed, &moving.stretch_to(fixed)));
    }
    // A common scale is a case of three.
    let kept = if dof == Dof::Similarity7 { Dof::Scales9 } else { dof };
    maps.iter()
        .filter(|map| frame.keeps_side(map))
        .filter_map(|map| frame.parameters(map, &fixed.centre, kept))
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(1.0)
}

/// The cost below which a fine angle is worth optimising: within a fifth of the range above the lowest, and among the
/// lowest fifth.
fn promising(costs: &[f64]) -> f64 {
    let mut sorted = costs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(lowest), Some(highest)) => {
            let rank = (PROMISING_SHARE * (sorted.len() - 1) as f64).ceil() as usize;
            (lowest + PROMISING_SHARE * (highest - lowest)).min(sorted[rank])
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
