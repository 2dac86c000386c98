//! The search on the coarsest level. It finds candidates for the orientation of the moving image.

use antsreg_kernels::Backend;
use nalgebra::Vector3;
use rayon::prelude::*;

use crate::compare::stretched;
use crate::coordinate_search::SWEEPS;
use crate::lattice::Lattice;
use crate::level::{LEAST_SHARE, Level};
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION, SCALE, TRANSLATION};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{AngleSearch, Dof, Error};

/// Returns candidates from the whole range of rotations, best first. Each is optimised over at most seven degrees of
/// freedom.
///
/// As in FLIRT (Jenkinson & Smith 2001), translation and scale are optimised at the coarse steps of the angles, and
/// interpolated to the fine steps. The local minima among the fine steps are optimised, and so are the alignments of
/// the principal axes.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    angles: &AngleSearch,
    poses: &[Pose; 2],
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    let mut angles = *angles;
    // Axes about which the model does not rotate get one angle, 0: a slice rotates about its normal only.
    (0..3).filter(|axis| !frame.turns().contains(axis)).for_each(|axis| angles.range_degrees[axis] = 0.0);
    let coarse_lattice = angle_lattice(&angles, angles.coarse_step_degrees);
    let starts: Vec<Parameters> =
        (0..coarse_lattice.len()).map(|number| turned(coarse_lattice.point(number))).collect();
    let coarse =
        level.optimise_along(frame, &starts, &frame.translations_and_scale(dof, level.mm), SWEEPS, progress)?;
    let scale = median(coarse.iter().map(|candidate| candidate.parameters[SCALE]).collect());
    let translation = |candidate: &Candidate| {
        let [_, _, _, x, y, z, ..] = candidate.parameters;
        [x, y, z]
    };
    let translations: Vec<[f64; 3]> = coarse.iter().map(translation).collect();

    let fine_lattice = angle_lattice(&angles, angles.fine_step_degrees);
    let fine: Vec<Parameters> = (0..fine_lattice.len())
        .map(|number| {
            let mut parameters = turned(fine_lattice.point(number));
            let shift = coarse_lattice.interpolate(&translations, fine_lattice.point(number));
            parameters[TRANSLATION..SCALE].copy_from_slice(&shift);
            parameters[frame.scales()].fill(scale);
            parameters
        })
        .collect();
    let mut starts = fine_lattice.promising(&fine, &level.costs(frame, &fine, progress)?);
    if dof >= Dof::Scales9 {
        // If the two objects have different proportions, the correct orientation may have a higher cost than wrong
        // orientations as long as only a common scale is allowed.
        let stretch = |turned: &Parameters| stretched(frame, poses, turned, dof).unwrap_or(*turned);
        let stretches: Vec<Parameters> = fine.par_iter().with_min_len(LEAST_SHARE).map(stretch).collect();
        starts.extend(fine_lattice.promising(&stretches, &level.costs(frame, &stretches, progress)?));
    }
    if angles.principal_axes {
        starts.extend(principal(frame, poses, dof, scale));
    }
    let mut found = level.optimise(frame, &starts, dof.min(Dof::Similarity7), progress)?;
    best_first(&mut found);
    Ok(found)
}

/// The lattice of rotation angles, in radians, with a step of about `step_degrees`.
fn angle_lattice(angles: &AngleSearch, step_degrees: f64) -> Lattice {
    let count = angles.range_degrees.map(|range| (2.0 * range / step_degrees).round() as usize + 1);
    Lattice::new(count, angles.range_degrees.map(f64::to_radians))
}

/// The parameters of the start transform, rotated by `angles` (radians) about the three axes.
fn turned(angles: [f64; 3]) -> Parameters {
    let mut parameters = IDENTITY;
    parameters[ROTATION..TRANSLATION].copy_from_slice(&angles);
    parameters
}

/// The parameters with which the principal axes of both images coincide, with the given scale. If the model has a scale
/// for each axis, the list also has copies with the stretch that gives both objects the same extent along these axes.
fn principal(frame: &Frame, [fixed, moving]: &[Pose; 2], dof: Dof, scale: f64) -> Vec<Parameters> {
    let mut maps = moving.maps_to(fixed, &Vector3::from_element(scale)).to_vec();
    if dof >= Dof::Scales9 {
        maps.extend(moving.maps_to(fixed, &moving.stretch_to(fixed)));
    }
    maps.iter()
        .filter(|map| frame.keeps_side(map))
        .filter_map(|map| frame.parameters(map, &fixed.centre, dof))
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests;
