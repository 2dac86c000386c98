//! The search of the coarsest level where the model is a translation.

use antsreg_kernels::Backend;

use crate::lattice::Lattice;
use crate::level::Level;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, IDENTITY, Parameters};
use crate::pose::Pose;
use crate::progress::Progress;
use crate::{Dof, Error};

/// Largest translation from the start along each axis that is evaluated, mm.
const REACH_MM: f64 = 64.0;

/// Step between the translations, mm. The first line search from each looks as far to both sides.
const STEP_MM: f64 = 16.0;

/// Translations, each optimised, best first: the start, the centres of mass on each other, the headers' alignment, and the
/// local minima among translations on a lattice around the start.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    poses: &[Pose; 2],
    progress: &mut Progress,
) -> Result<Vec<Candidate>, Error> {
    let mut starts = vec![IDENTITY, frame.translation_to(&poses[0].centre)];
    starts.extend(frame.headers());
    let lattice = shift_lattice(frame.shift_axes());
    let shifted: Vec<Parameters> = (0..lattice.len()).map(|number| frame.shifted(lattice.point(number))).collect();
    starts.extend(lattice.promising(&shifted, &level.costs(frame, &shifted, progress)?));
    let mut found = level.optimise(frame, &starts, Dof::Translation3, progress)?;
    best_first(&mut found);
    Ok(found)
}

/// Translations along so many axes, mm.
fn shift_lattice(axes: usize) -> Lattice {
    let (along, range) = ((2.0 * REACH_MM / STEP_MM) as usize + 1, REACH_MM);
    let of = |axis: usize| axis < axes;
    Lattice::new(
        std::array::from_fn(|axis| if of(axis) { along } else { 1 }),
        std::array::from_fn(|axis| if of(axis) { range } else { 0.0 }),
    )
}
