//! FLIRT's schedule, coarse to fine (Jenkinson & Smith 2001; Jenkinson et al. 2002).
//!
//! - 8 mm: orientations over the whole range of angles, and the principal axes, each optimised over seven degrees of
//!   freedom ([`orient`](crate::orient)).
//! - 4 mm: the best three of them and the headers' alignment, optimised again; the best four of all these and turned and
//!   scaled neighbours of each, optimised.
//! - 2 mm: the best, over 7, 9 and 12 degrees of freedom.
//! - 1 mm: all degrees of freedom.
//!
//! Beyond FLIRT, a level that frees all parameters ends with Newton steps ([`polish`](crate::polish)).

use antsreg_core::AffineTransform;
use antsreg_kernels::Backend;

use crate::coordinate_search::{Candidate, descend};
use crate::images::Images;
use crate::level::Level;
use crate::orient;
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION, SCALE, SKEW, directions};
use crate::polish::{Curvature, polish};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Dof, Error, Options, Outcome, Search};

const SWEEPS: usize = 4;
const KEPT_AFTER_8_MM: usize = 3;
const KEPT_AT_4_MM: usize = 4;
const NEIGHBOUR_ANGLE_DEGREES: f64 = 9.0;
const NEIGHBOUR_SCALES: [f64; 4] = [0.8, 0.9, 1.1, 1.2];
const NEWTON_STEPS: usize = 8;

/// Levels in mm, coarsest first, for images whose smaller voxels measure `voxel_mm`.
pub(crate) fn levels(voxel_mm: f64, finest_mm: f64) -> Vec<f64> {
    // Headers round: 1.0001 mm is 1 mm.
    let least = (voxel_mm - 1e-2).ceil().max(1.0).max(finest_mm);
    let levels: Vec<f64> = [8.0, 4.0, 2.0, 1.0].into_iter().filter(|mm| *mm >= least).collect();
    if levels.is_empty() { vec![least] } else { levels }
}

pub(crate) fn run<B: Backend>(
    images: &Images<B>,
    frame: &Frame,
    poses: &[Pose; 2],
    options: &Options,
    progress: &mut Progress,
) -> Result<Outcome, Error> {
    let levels = levels(images.voxel_mm(), options.finest_mm);
    let mut costs = Vec::new();
    let mut candidates = vec![Candidate { parameters: IDENTITY, cost: 1.0 }];
    let mut curvature = None;
    // Whether all parameters have been free already.
    let mut freed = false;
    for (number, mm) in levels.iter().copied().enumerate() {
        let guess = frame.transform(&candidates[0].parameters).unwrap_or_else(AffineTransform::identity);
        let level = images.level(mm, &guess)?;
        progress.begin(number, levels.len(), mm);
        if number == 0 {
            candidates = match &options.search {
                Search::Angles(angles) => orient::search(&level, frame, options.dof, angles, poses)?,
                Search::None => rigid_or_scaled(&level, frame, options.dof, &[IDENTITY])?,
            };
            progress.report("orientations", &candidates);
        } else if mm >= 4.0 {
            candidates = match options.search {
                Search::Angles(_) => {
                    freed = true;
                    compare(&level, frame, options.dof, candidates, progress)?
                }
                Search::None => rigid_or_scaled(&level, frame, options.dof, &parameters(&candidates))?,
            };
        }
        if mm <= 2.0 || number + 1 == levels.len() {
            let best = free_all(&level, frame, options.dof, &candidates[0], !freed, &mut curvature, progress)?;
            freed = true;
            candidates = vec![best];
        }
        costs.push((mm, candidates[0].cost));
    }
    let best = candidates[0];
    let transform = frame.transform(&best.parameters).filter(|_| best.cost < 1.0).ok_or(Error::NoOverlap)?;
    Ok(Outcome { transform, cost: best.cost, levels: costs })
}

fn parameters(candidates: &[Candidate]) -> Vec<Parameters> {
    candidates.iter().map(|candidate| candidate.parameters).collect()
}

/// Each start optimised over at most seven degrees of freedom, best first.
fn rigid_or_scaled<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    starts: &[Parameters],
) -> Result<Vec<Candidate>, Error> {
    let directions = directions(dof.min(Dof::Similarity7), level.mm);
    let mut found = descend(starts, &directions, SWEEPS, |batch| level.costs(frame, batch))?;
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(found)
}

/// The level that decides between orientations.
fn compare<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    candidates: Vec<Candidate>,
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    let mut starts = parameters(&candidates);
    let costs = level.costs(frame, &starts)?;
    let mut ranked: Vec<(Parameters, f64)> = starts.drain(..).zip(costs).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    starts.extend(ranked.iter().take(KEPT_AFTER_8_MM).map(|(parameters, _)| *parameters));
    starts.push(IDENTITY);
    starts.extend(frame.headers());
    let mut found = rigid_or_scaled(level, frame, dof, &starts)?;
    progress.report("best orientations", &found);
    found.truncate(KEPT_AT_4_MM);
    let neighbours: Vec<Parameters> =
        found.iter().flat_map(|candidate| neighbours(&candidate.parameters, dof)).collect();
    found.extend(rigid_or_scaled(level, frame, dof, &neighbours)?);
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    progress.report("their neighbours", &found);
    found.truncate(KEPT_AT_4_MM);
    // A stretch may hide the right orientation from those that only know one scale.
    for step in [Dof::Scales9, Dof::Affine12].into_iter().filter(|step| *step <= dof) {
        found = descend(&parameters(&found), &directions(step, level.mm), SWEEPS, |batch| level.costs(frame, batch))?;
        progress.report(what(step), &found);
    }
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(found)
}

/// Ten neighbours: turned to both sides about each axis and, unless the transform is rigid, scaled.
fn neighbours(parameters: &Parameters, dof: Dof) -> Vec<Parameters> {
    let angle = NEIGHBOUR_ANGLE_DEGREES.to_radians();
    let mut neighbours = Vec::new();
    for (axis, angle) in (0..3).flat_map(|axis| [(axis, -angle), (axis, angle)]) {
        let mut neighbour = *parameters;
        neighbour[ROTATION + axis] += angle;
        neighbours.push(neighbour);
    }
    for factor in NEIGHBOUR_SCALES.iter().filter(|_| dof > Dof::Rigid6) {
        let mut neighbour = *parameters;
        neighbour[SCALE..SKEW].iter_mut().for_each(|scale| *scale *= factor);
        neighbours.push(neighbour);
    }
    neighbours
}

/// Optimises over all degrees of freedom: from the few to the many if `stepwise`, and then by Newton steps.
fn free_all<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    start: &Candidate,
    stepwise: bool,
    curvature: &mut Option<Curvature>,
    progress: &mut Progress,
) -> Result<Candidate, Error> {
    let costs = |batch: &[Parameters]| level.costs(frame, batch);
    let mut best = *start;
    if stepwise {
        for step in [Dof::Rigid6, Dof::Similarity7, Dof::Scales9, Dof::Affine12] {
            if step <= dof && (step >= Dof::Similarity7 || step == dof) {
                let found = descend(&[best.parameters], &directions(step, level.mm), SWEEPS, costs)?;
                best = found.first().copied().unwrap_or(best);
                progress.report(what(step), &[best]);
            }
        }
    }
    let (polished, measured) =
        polish(&best.parameters, &directions(dof, level.mm), NEWTON_STEPS, curvature.as_ref(), costs)?;
    *curvature = Some(measured);
    progress.report("Newton steps", &[polished]);
    Ok(polished)
}

fn what(dof: Dof) -> &'static str {
    match dof {
        Dof::Rigid6 => "6 degrees of freedom",
        Dof::Similarity7 => "7 degrees of freedom",
        Dof::Scales9 => "9 degrees of freedom",
        Dof::Affine12 => "12 degrees of freedom",
    }
}

#[cfg(test)]
mod tests;
