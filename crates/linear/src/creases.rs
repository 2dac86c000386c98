//! Line searches around a minimum where the cost is not smooth.
//!
//! Histograms filled by partial volume have creases where the voxels of both images coincide. Newton's steps end beside
//! such a crease; line searches from around that point find the minimum in it.

use antsreg_kernels::Backend;

use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Frame, Parameters, along};
use crate::progress::Progress;
use crate::{Dof, Error};

/// Distance of the further starts from the point, to both sides along each direction, tolerances.
const AWAY: f64 = 3.0;

/// The best result of the line searches from `start` and around it, or `start` itself if none is better.
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
