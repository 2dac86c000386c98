//! The bottom of a valley that is no parabola: counting by partial volume has creases where the voxels of both images
//! coincide, and Newton's steps end on the slope beside one.

use antsreg_kernels::Backend;

use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Frame, Parameters, along};
use crate::{Dof, Error};

/// How far to both sides of the point the search along lines begins anew, tolerances.
const AWAY: f64 = 3.0;

/// The best of the lines' ends from around `start`, or `start` itself.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    start: Candidate,
) -> Result<Candidate, Error> {
    let mut starts: Vec<Parameters> = vec![start.parameters];
    for direction in frame.directions(dof, level.mm) {
        starts.extend([-AWAY, AWAY].map(|distance| along(&start.parameters, &direction, distance)));
    }
    let found = level.optimise(frame, &starts, dof)?;
    Ok(found.into_iter().fold(start, |best, candidate| if candidate.cost < best.cost { candidate } else { best }))
}
