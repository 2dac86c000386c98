//! FLIRT's schedule, coarse to fine (Jenkinson & Smith 2001; Jenkinson et al. 2002).
//!
//! - 8 mm: orientations over the whole range of angles, each optimised over at most seven degrees of freedom
//!   ([`orient`](crate::orient)).
//! - 4 mm: the best orientations, the start and the headers' alignment; then rotated and scaled copies of the best of
//!   these ([`compare`](crate::compare)).
//! - 2 mm and 1 mm: the best candidate, over all degrees of freedom.
//!
//! If the model is a translation, the coarsest level searches over translations instead of orientations
//! ([`translate`](crate::translate)), and there are no rotated or scaled copies.
//!
//! Additions to FLIRT:
//!
//! - Orientations that align the principal axes of both images.
//! - A search may exchange the roles of the fixed and the moving image. If it is made in both roles, the best candidate
//!   is the one with the lowest sum of both costs ([`coarse`](crate::coarse)).
//! - Each orientation is also evaluated with the stretch that gives both objects the same covariance, because with only
//!   a common scale, the correct orientation may have a higher cost than wrong orientations.
//! - All distinct candidates are optimised over all degrees of freedom already at 4 mm.
//! - The cost of a transform that loses most of the starts' overlap is raised ([`overlap`](crate::overlap)).
//! - Partial volumes are sampled on a grid that is oblique to the voxels of both images ([`grids`](crate::grids)).
//! - From the 4 mm level on, Newton steps ([`polish`](crate::polish)) replace sweeps over the parameters.

use antsreg_core::AffineTransform;
use antsreg_core::report::SearchStep;
use antsreg_kernels::Backend;

use crate::coarse::{self, Coarse};
use crate::compare;
use crate::images::{Images, Order};
use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Frame, IDENTITY};
use crate::polish::{Curvature, Rejected};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::roles::Roles;
use crate::{Cost, Dof, Error, Options, Outcome, Search};

/// The resolution levels of a search, mm, coarsest first; at least one. `voxel_mm` is the size of the images' detail.
pub(crate) fn levels(voxel_mm: f64, finest_mm: f64) -> Vec<f64> {
    // Spacings in headers are rounded, so 1.0001 mm counts as 1 mm.
    let least = (voxel_mm - 1e-2).ceil().max(1.0).max(finest_mm);
    let levels: Vec<f64> = Options::LEVELS_MM.into_iter().filter(|mm| *mm >= least).collect();
    if levels.is_empty() { vec![least] } else { levels }
}

/// Runs the search over all levels and returns its result. It begins at `start`; `poses` are the poses of the fixed and
/// the moving image.
pub(crate) fn run<B: Backend>(
    images: &Images<B>,
    start: &AffineTransform,
    poses: &[Pose; 2],
    options: &Options,
    progress: &mut Progress,
) -> Result<Outcome, Error> {
    let (dof, levels) = (options.dof, levels(images.voxel_mm(), options.finest_mm));
    let is_local = options.search == Search::None;
    progress.begin(0, levels.len(), levels[0])?;
    let Coarse { roles, others, candidates } = coarse::search(images, start, poses, options, &levels, progress)?;
    let mut best = candidates.first().copied().ok_or(Error::NoOverlap)?;
    let mut curvature = None;
    // Whether the best candidate (set of transform parameters) has been optimised over all degrees of freedom.
    let mut freed = false;
    let mut costs = Vec::new();
    for (number, mm) in levels.iter().copied().enumerate() {
        let finest = number + 1 == levels.len();
        if number > 0 {
            progress.begin(number, levels.len(), mm)?;
        }
        // The search above did all of a first level, unless it is the only level or the search is local.
        if number > 0 || is_local || finest {
            let level = roles.level(mm, &best.parameters)?;
            if is_local && mm >= 4.0 {
                let few = dof.min(Dof::Similarity7);
                let found = level.optimise(&roles.frame, &[best.parameters], few, progress)?;
                best = found.first().copied().ok_or(Error::NoOverlap)?;
                progress.report(SearchStep::Start, &[best])?;
            } else if mm == 4.0 {
                let found = compare::search(&level, &roles.frame, dof, &roles.poses, &candidates, progress)?;
                let chosen = match &others {
                    Some(others) => compare::best_both_ways(&roles, others, mm, found, progress)?,
                    None => found.into_iter().next(),
                };
                (best, curvature) = chosen.ok_or(Error::NoOverlap)?;
                freed = true;
            }
            if mm <= 2.0 || finest {
                best = free_all(&level, &roles.frame, dof, best, !freed, &mut curvature, progress)?;
                freed = true;
            }
        }
        costs.push((mm, best.cost));
    }
    let transform = roles.transform(&best.parameters).filter(|_| best.cost < 1.0).ok_or(Error::NoOverlap)?;
    let exchanged = roles.are_exchanged();
    let cost = match levels.last() {
        Some(mm) if exchanged => {
            let given = Roles::new(images, Order::Given, start, poses, options)?;
            let near = given.parameters(&transform).unwrap_or(IDENTITY);
            given.costs(&given.level(*mm, &near)?, &[Some(transform)], progress)?[0]
        }
        _ => best.cost,
    };
    Ok(Outcome { transform, start: *start, cost, levels: costs, exchanged, boundary: None })
}

/// Optimises a candidate over all degrees of freedom of the model. If `stepwise`, models with fewer degrees of freedom
/// come first, in ascending order.
fn free_all<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    start: Candidate,
    stepwise: bool,
    curvature: &mut Option<Curvature>,
    progress: &mut Progress,
) -> Result<Candidate, Error> {
    let mut best = start;
    if stepwise {
        for step in Dof::ALL {
            if step <= dof && (step >= Dof::Similarity7 || step == dof) {
                let found = level.optimise(frame, &[best.parameters], step, progress)?;
                best = found.first().copied().unwrap_or(best);
                progress.report(step.search_step(), &[best])?;
            }
        }
    }
    // Newton steps of the correlation ratio are rejected within a hundredth of a millimetre of its minimum, those of the
    // other costs also farther from it.
    let rejected = match level.cost {
        Cost::CorrelationRatio => Rejected::Ends,
        _ => Rejected::Continues,
    };
    let (polished, measured) = level
        .polish(frame, &[best.parameters], dof, curvature.as_ref(), rejected, progress)?
        .into_iter()
        .next()
        .unwrap_or((best, None));
    *curvature = measured;
    progress.report(SearchStep::AllTogether, &[polished])?;
    Ok(polished)
}

#[cfg(test)]
mod tests;
