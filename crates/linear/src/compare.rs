//! The search on the 4 mm level. It decides between the candidate orientations that the search on the 8 mm level found.

use antsreg_core::report::SearchStep;
use antsreg_kernels::Backend;

use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION};
use crate::polish::{Curvature, Rejected};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::roles::Roles;
use crate::{Dof, Error};

/// Number of candidates from the coarser level that are optimised on the 4 mm level.
const KEPT_BEFORE: usize = 6;

/// Number of candidate transforms from which neighbours (rotated and scaled copies) are made.
const KEPT: usize = 4;

/// Number of candidates that are optimised over all degrees of freedom.
const FREED: usize = 12;

/// Near a candidate transform, neighbours are evaluated, too. A neighbour is rotated by this angle about one axis, in
/// either direction, degrees.
const NEIGHBOUR_ANGLE_DEGREES: f64 = 9.0;

/// Near a candidate transform, neighbours are evaluated, too. The scale of a neighbour is that of the candidate times
/// one of these factors.
const NEIGHBOUR_SCALES: [f64; 4] = [0.8, 0.9, 1.1, 1.2];

/// Searches on the 4 mm level in three steps. First the best candidates of the coarser level, the start and the
/// headers' alignment are optimised. Then rotated, scaled and stretched copies of the best results are optimised. Last,
/// all distinct results are optimised over all degrees of freedom.
///
/// Returns the candidates, best first, each with the curvature of the cost if the optimiser measures it.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    poses: &[Pose; 2],
    candidates: &[Candidate],
    progress: &mut Progress,
) -> Result<Vec<(Candidate, Option<Curvature>)>, Error> {
    let few = dof.min(Dof::Similarity7);
    let ranked = level.rated(frame, candidates.iter().map(|candidate| candidate.parameters), progress)?;
    let mut starts: Vec<Parameters> =
        level.distinct(&ranked, KEPT_BEFORE).iter().map(|candidate| candidate.parameters).collect();
    let ranked = starts.len();
    starts.extend(anchors(frame, dof, poses));
    let mut found = level.optimise(frame, &starts, few, progress)?;
    let step = if dof == Dof::Translation3 { SearchStep::Translations } else { SearchStep::BestOrientations };
    progress.report(step, &found)?;
    // The start and the headers' alignment stay candidates, whatever their cost is now: as long as only a common scale
    // is allowed, a correct start may have a higher cost than wrong candidates.
    let anchors = found.split_off(ranked);
    found.extend_from_slice(&anchors);
    found = level.distinct(&found, KEPT);
    if dof >= Dof::Rigid6 {
        let near: Vec<Parameters> =
            found.iter().flat_map(|candidate| neighbours(frame, &candidate.parameters, dof)).collect();
        found.extend(level.approach(frame, &near, few, progress)?);
        progress.report(SearchStep::Neighbours, &found)?;
        found = level.distinct(&found, KEPT);
    }
    found.extend_from_slice(&anchors);
    if dof >= Dof::Scales9 {
        let starts = parameters(&level.distinct(&found, FREED));
        found = level.approach(frame, &starts, Dof::Scales9, progress)?;
        progress.report(Dof::Scales9.search_step(), &found)?;
    }
    let polished =
        level.polish(frame, &parameters(&level.distinct(&found, FREED)), dof, None, Rejected::Ends, progress)?;
    let ends: Vec<Candidate> = polished.iter().map(|(candidate, _)| *candidate).collect();
    progress.report(SearchStep::AllTogether, &ends)?;
    Ok(polished)
}

/// Returns the candidate with the lowest sum of the costs in both roles, on the level with voxels of `mm`. The costs in
/// `found` are those in `roles`. `None` for an empty list.
pub(crate) fn best_both_ways<B: Backend>(
    roles: &Roles<B>,
    others: &Roles<B>,
    mm: f64,
    found: Vec<(Candidate, Option<Curvature>)>,
    progress: &mut Progress,
) -> Result<Option<(Candidate, Option<Curvature>)>, Error> {
    let ends: Vec<Candidate> = found.iter().map(|(candidate, _)| *candidate).collect();
    let transforms = roles.transforms(&ends);
    let near = transforms.first().copied().flatten().and_then(|best| others.parameters(&best)).unwrap_or(IDENTITY);
    let costs = others.costs(&others.level(mm, &near)?, &transforms, progress)?;
    let sum = |((candidate, _), other): &((Candidate, _), f64)| candidate.cost + other;
    Ok(found.into_iter().zip(costs).min_by(|a, b| sum(a).total_cmp(&sum(b))).map(|(found, _)| found))
}

/// The start transform and the alignment by the headers, as sets of transform parameters. If the model has a scale for
/// each axis, the list also has a copy of each that is stretched to give both objects the same covariance.
fn anchors(frame: &Frame, dof: Dof, poses: &[Pose; 2]) -> Vec<Parameters> {
    let mut anchors: Vec<Parameters> = [IDENTITY].into_iter().chain(frame.headers()).collect();
    if dof >= Dof::Scales9 {
        let stretches: Vec<Parameters> =
            anchors.iter().filter_map(|anchor| stretched(frame, poses, anchor, dof)).collect();
        anchors.extend(stretches);
    }
    anchors
}

fn parameters(candidates: &[Candidate]) -> Vec<Parameters> {
    candidates.iter().map(|candidate| candidate.parameters).collect()
}

/// A copy of a candidate transform, stretched so that the covariance of the moving object becomes that of the fixed
/// object.
pub(crate) fn stretched(
    frame: &Frame,
    [fixed, moving]: &[Pose; 2],
    candidate: &Parameters,
    dof: Dof,
) -> Option<Parameters> {
    let moving_to_fixed = frame.transform(candidate)?.inverse()?.matrix;
    let stretch = moving.stretch_after(&moving_to_fixed, fixed)?;
    frame.parameters(&(stretch * moving_to_fixed), &fixed.centre, dof)
}

/// Copies of a candidate near it: rotated in both directions about each axis and, unless the model is rigid, scaled.
/// Volumes have ten such neighbours.
fn neighbours(frame: &Frame, parameters: &Parameters, dof: Dof) -> Vec<Parameters> {
    let angle = NEIGHBOUR_ANGLE_DEGREES.to_radians();
    let mut neighbours = Vec::new();
    for (axis, angle) in frame.turns().flat_map(|axis| [(axis, -angle), (axis, angle)]) {
        let mut neighbour = *parameters;
        neighbour[ROTATION + axis] += angle;
        neighbours.push(neighbour);
    }
    for factor in NEIGHBOUR_SCALES.iter().filter(|_| dof > Dof::Rigid6) {
        let mut neighbour = *parameters;
        neighbour[frame.scales()].iter_mut().for_each(|scale| *scale *= factor);
        neighbours.push(neighbour);
    }
    neighbours
}

#[cfg(test)]
mod tests;
