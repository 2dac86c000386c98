//! Line searches around a minimum of a cost that is not smooth.
//!
//! If a joint histogram is filled by partial-volume interpolation, the slope of its cost jumps where the voxels of both
//! images coincide. Such a jump is called a crease. Newton steps end beside a crease; line searches around that point
//! find the minimum in the crease.

use antsreg_kernels::Backend;

use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Frame, Parameters, along};
use crate::progress::Progress;
use crate::{Dof, Error};

/// Line searches also begin at points around the given point, on both sides of it along each direction. This is the
/// distance of these points, in units of the parameters' tolerances.
const AWAY: f64 = 3.0;

/// Returns the best result of line searches from `start` and from points around it, or `start` itself if no result is
/// better.
pub(crate) fn search<B: Backend>(
    level: &Level<B>,
    frame: &Frame,
    dof: Dof,
    start: Candidate,
    progress: &mut Progress,
) -> Result<Candidate, Error> {
    let mut starts: Vec<Parameters> = vec![start.parameters];
    for direction in frame.directions(dof, level.mm) {
        starts.extend([-AWAY, AWAY].map(|distance| along(&start.parameters, &direction, distance)));
    }
    let found = level.optimise(frame, &starts, dof, progress)?;
    Ok(found.into_iter().fold(start, |best, candidate| if candidate.cost < best.cost { candidate } else { best }))
}
