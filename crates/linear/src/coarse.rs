//! The coarsest level of a search: candidates of the alignment, and the roles of both images.
//!
//! The roles are chosen so that the result hardly depends on which image is given as the fixed one:
//!
//! - If the cost is symmetric except for interpolation, the image with the smaller field of view gets the role of the
//!   fixed image.
//! - If it is the correlation ratio, and the best candidate leaves much of a variance unexplained, or another share in
//!   either role, the search is made in both roles. The candidate with the lowest sum of both costs is best. The finer
//!   levels use the roles in which the cost rises more around it, and so determines the transform better.
//!
//! [`may_exchange`] says which searches keep the given roles.

use antsreg_core::AffineTransform;
use antsreg_core::report::SearchStep;
use antsreg_kernels::Backend;
use nalgebra::Matrix3;

use crate::images::{Images, Order};
use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{IDENTITY, along};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::roles::Roles;
use crate::{AngleSearch, Cost, Dof, Error, Options, Search, orient, translate};

/// The search is made in both roles if the best candidate leaves more than this share of a variance unexplained in
/// either role, or if the shares in both roles differ by more than [`ALIKE`]. Images of one contrast have lower shares
/// on the coarsest level, and alike.
const UNEXPLAINED: f64 = 0.1;
const ALIKE: f64 = 0.015;

/// Distance at which the rise of a cost around a candidate is measured, in tolerances of the parameters. On the 4 mm
/// level it is 11° or 8 mm.
const RISE_AT: f64 = 10.0;

/// Result of the search on the coarsest level.
pub(crate) struct Coarse<'a, B: Backend> {
    /// The roles on the finer levels.
    pub roles: Roles<'a, B>,
    /// The other roles, if the search was made in both.
    pub others: Option<Roles<'a, B>>,
    /// The candidates, best first: by the sum of both costs if the search was made in both roles. Each has its cost in
    /// `roles`.
    pub candidates: Vec<Candidate>,
}

/// Searches on the first of `levels`, whose voxel sizes are in mm. A local search has one candidate, its start. `poses`
/// are the poses of the fixed and the moving image.
pub(crate) fn search<'a, B: Backend>(
    images: &'a Images<'a, B>,
    start: &AffineTransform,
    poses: &[Pose; 2],
    options: &Options,
    levels: &[f64],
    progress: &mut Progress,
) -> Result<Coarse<'a, B>, Error> {
    let roles_in = |order| Roles::new(images, order, start, poses, options);
    let Search::Angles(angles) = &options.search else {
        let candidates = vec![Candidate { parameters: IDENTITY, cost: 1.0 }];
        return Ok(Coarse { roles: roles_in(Order::Given)?, others: None, candidates });
    };
    let may_exchange = may_exchange(images, options, start);
    let found = if may_exchange && options.cost == Cost::CorrelationRatio {
        both_ways(roles_in(Order::Given)?, roles_in(Order::Exchanged)?, angles, levels, progress)?
    } else {
        let order = if may_exchange { images.smaller_first() } else { Order::Given };
        let roles = roles_in(order)?;
        let candidates = find(&roles, &roles.level(levels[0], &IDENTITY)?, angles, progress)?;
        Coarse { roles, others: None, candidates }
    };
    let step = if options.dof == Dof::Translation3 { SearchStep::Translations } else { SearchStep::Orientations };
    progress.report(step, &found.candidates)?;
    Ok(found)
}

/// Whether a search may exchange the roles of the images. Besides [`Options::may_exchange`], the model must contain the
/// inverses of its transforms. A rigid model or a similarity does not, if the start stretches the image. Slices do not
/// either, because they rotate about the normal of the moving slice.
fn may_exchange<B: Backend>(images: &Images<B>, options: &Options, start: &AffineTransform) -> bool {
    let product = start.matrix.transpose() * start.matrix;
    let stretch = product - Matrix3::identity() * (product.trace() / 3.0);
    let keeps_shapes = stretch.amax() < 1e-6 * product.trace();
    options.may_exchange() && !images.are_slices() && (options.dof == Dof::Affine12 || keeps_shapes)
}

/// Searches by the correlation ratio, which may differ much between the roles: first in the given roles, and in both if
/// the best candidate demands it.
fn both_ways<'a, B: Backend>(
    given: Roles<'a, B>,
    exchanged: Roles<'a, B>,
    angles: &AngleSearch,
    levels: &[f64],
    progress: &mut Progress,
) -> Result<Coarse<'a, B>, Error> {
    let level_given = given.level(levels[0], &IDENTITY)?;
    let candidates = find(&given, &level_given, angles, progress)?;
    let level_exchanged = exchanged.level(levels[0], &IDENTITY)?;
    let mut transforms = given.transforms(&candidates);
    let best = transforms.first().ok_or(Error::NoOverlap)?;
    let shares = [candidates[0].cost, exchanged.costs(&level_exchanged, &[*best], progress)?[0]];
    if shares[0].max(shares[1]) <= UNEXPLAINED && (shares[0] - shares[1]).abs() <= ALIKE {
        drop((level_given, level_exchanged));
        return Ok(Coarse { roles: given, others: None, candidates });
    }
    transforms.extend(exchanged.transforms(&find(&exchanged, &level_exchanged, angles, progress)?));
    let costs = [
        given.costs(&level_given, &transforms, progress)?,
        exchanged.costs(&level_exchanged, &transforms, progress)?,
    ];
    drop((level_given, level_exchanged));
    let sums: Vec<f64> = costs[0].iter().zip(&costs[1]).map(|(one, other)| one + other).collect();
    let mut ranked: Vec<usize> = (0..transforms.len()).filter(|n| transforms[*n].is_some()).collect();
    ranked.sort_by(|a, b| sums[*a].total_cmp(&sums[*b]));
    let best = ranked.first().and_then(|n| transforms[*n]).ok_or(Error::NoOverlap)?;
    let mm = *levels.get(1).unwrap_or(&levels[0]);
    let is_exchanged = rise(&exchanged, &best, mm, progress)? > rise(&given, &best, mm, progress)?;
    let (roles, others) = if is_exchanged { (exchanged, given) } else { (given, exchanged) };
    let costs = &costs[usize::from(is_exchanged)];
    let candidate = |n: usize| Some(Candidate { parameters: roles.parameters(&transforms[n]?)?, cost: costs[n] });
    let candidates = ranked.into_iter().filter_map(candidate).collect();
    Ok(Coarse { roles, others: Some(others), candidates })
}

/// How much the cost rises around a transform of the registration on the level with voxels of `mm`: the sum of the
/// rises in both directions along each parameter of rotation and translation.
fn rise<B: Backend>(
    roles: &Roles<B>,
    transform: &AffineTransform,
    mm: f64,
    progress: &mut Progress,
) -> Result<f64, Error> {
    let Some(here) = roles.parameters(transform) else { return Ok(0.0) };
    let directions = roles.frame.directions(Dof::Rigid6, mm);
    let mut points = vec![here];
    points.extend(directions.iter().flat_map(|way| [RISE_AT, -RISE_AT].map(|distance| along(&here, way, distance))));
    let costs = roles.level(mm, &here)?.costs(&roles.frame, &points, progress)?;
    Ok(costs[1..].iter().map(|cost| cost - costs[0]).sum())
}

/// Searches in given roles and returns the candidates, best first.
fn find<B: Backend>(
    roles: &Roles<B>,
    level: &Level<B>,
    angles: &AngleSearch,
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    match roles.dof {
        Dof::Translation3 => translate::search(level, &roles.frame, &roles.poses, progress),
        dof => orient::search(level, &roles.frame, dof, angles, &roles.poses, progress),
    }
}

#[cfg(test)]
mod tests;
