//! The level that decides between orientations.

use antsreg_kernels::Backend;

use crate::coordinate_search::{Candidate, best_first};
use crate::level::Level;
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION, SCALE, SKEW};
use crate::progress::Progress;
use crate::{Dof, Error};

/// Candidates of the coarser level that are optimised, and of these those whose neighbours are.
const KEPT_BEFORE: usize = 3;
const KEPT: usize = 4;

/// How neighbours are turned and scaled.
const NEIGHBOUR_ANGLE_DEGREES: f64 = 9.0;
const NEIGHBOUR_SCALES: [f64; 4] = [0.8, 0.9, 1.1, 1.2];

/// The best of the candidates, the start, the headers' alignment and the neighbours of all these, best first; the first
/// few have all degrees of freedom.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    candidates: &[Candidate],
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    let few = dof.min(Dof::Similarity7);
    let mut ranked = level.rated(frame, candidates.iter().map(|candidate| candidate.parameters))?;
    ranked.truncate(KEPT_BEFORE);
    let starts = ranked.iter().map(|candidate| candidate.parameters).chain([IDENTITY]).chain(frame.headers());
    let mut found = level.optimise(frame, &starts.collect::<Vec<_>>(), few)?;
    progress.report("best orientations", &found);
    found.truncate(KEPT);
    let near: Vec<Parameters> = found.iter().flat_map(|candidate| neighbours(&candidate.parameters, dof)).collect();
    found.extend(level.optimise(frame, &near, few)?);
    best_first(&mut found);
    progress.report("their neighbours", &found);
    found.truncate(KEPT);
    // A stretch may hide the right orientation from those that only know one scale.
    for step in [Dof::Scales9, Dof::Affine12].into_iter().filter(|step| *step <= dof) {
        let starts: Vec<Parameters> = found.iter().map(|candidate| candidate.parameters).collect();
        found = level.optimise(frame, &starts, step)?;
        progress.report(step.name(), &found);
    }
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

#[cfg(test)]
mod tests;
