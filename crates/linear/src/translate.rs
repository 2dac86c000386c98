//! The search on the coarsest resolution level if the transform model is a translation: a search over translations
//! instead of rotations.

use antsreg_kernels::Backend;
use nalgebra::Vector3;

use crate::lattice::Lattice;
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, IDENTITY, Parameters, SCALE, TRANSLATION};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Dof, Error};

/// Largest translation from the centre of a lattice of translations, along each axis, mm.
const REACH_MM: f64 = 64.0;

/// Step between the translations of a lattice, mm. A line search from a lattice point first evaluates the cost at this
/// distance on both sides.
const STEP_MM: f64 = 16.0;

/// Searches for the translation and returns optimised candidates, best first.
///
/// The searches begin at three translations, and at the local minima of the cost on a lattice around each of these
/// three. The three are the start, the headers' alignment, and the alignment of the centres of mass. Any of the three
/// may be wrong by a large distance: a wrong start, headers without a common origin, or a centre of mass shifted by
/// structures that only one image shows.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    poses: &[Pose; 2],
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    let mut starts = vec![IDENTITY];
    starts.extend(frame.headers());
    starts.push(frame.translation_to(&poses[0].centre));
    let lattice = shift_lattice(frame.shift_axes());
    for centre in separate(&starts, STEP_MM) {
        let shifted: Vec<Parameters> =
            (0..lattice.len()).map(|number| frame.shifted(&centre, lattice.point(number))).collect();
        starts.extend(lattice.promising(&shifted, &level.costs(frame, &shifted, progress)?));
    }
    let mut found = level.optimise(frame, &starts, Dof::Translation3, progress)?;
    best_first(&mut found);
    Ok(found)
}

/// From a list of sets of transform parameters, leaves out those whose translation is within `mm` of the translation of
/// an earlier set in the list.
fn separate(parameters: &[Parameters], mm: f64) -> Vec<Parameters> {
    let shift = |parameters: &Parameters| Vector3::from_column_slice(&parameters[TRANSLATION..SCALE]);
    let mut separate: Vec<Parameters> = Vec::new();
    for candidate in parameters {
        if separate.iter().all(|other| (shift(candidate) - shift(other)).norm() > mm) {
            separate.push(*candidate);
        }
    }
    separate
}

/// A lattice of translations along the first `axes` axes, mm.
fn shift_lattice(axes: usize) -> Lattice {
    let (along, range) = ((2.0 * REACH_MM / STEP_MM) as usize + 1, REACH_MM);
    let of = |axis: usize| axis < axes;
    Lattice::new(
        std::array::from_fn(|axis| if of(axis) { along } else { 1 }),
        std::array::from_fn(|axis| if of(axis) { range } else { 0.0 }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_near_an_earlier_one_are_left_out() {
        let at = |mm: [f64; 3]| {
            let mut parameters = IDENTITY;
            parameters[TRANSLATION..SCALE].copy_from_slice(&mm);
            parameters
        };
        let list = [[1.0, 0.0, 0.0], [1.0, 16.0, 0.0], [17.5, 0.0, 0.0], [17.5, 10.0, 10.0], [-1.0, -15.0, -10.0]];
        let expected = [list[0], list[2], list[4]];
        assert_eq!(separate(&list.map(at), 16.0), expected.map(at));
    }

    #[test]
    fn lattices_of_translations_have_nine_points_along_each_axis() {
        let (volume, slice) = (shift_lattice(3), shift_lattice(2));
        assert_eq!((volume.len(), slice.len()), (729, 81));
        assert_eq!([volume.point(0), volume.point(1)], [[-64.0; 3], [-48.0, -64.0, -64.0]]);
        assert_eq!([volume.point(728), slice.point(80)], [[64.0; 3], [64.0, 64.0, 0.0]]);
    }
}
