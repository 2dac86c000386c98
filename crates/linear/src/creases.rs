//! Line searches around a minimum of a cost that is not smooth.
//!
//! If a joint histogram is filled by partial-volume interpolation, the slope of its cost jumps where the voxels of both
//! images coincide. Such a jump is called a crease. Newton steps end beside a crease; line searches around that point
//! find the minimum in the crease.

use antsreg_kernels::Backend;

use crate::level::Level;
use crate::lockstep::Candidate;
use crate::parameters::{Direction, Frame, Parameters, along};
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
    let starts = around(&start.parameters, &frame.directions(dof, level.mm));
    let found = level.optimise(frame, &starts, dof, progress)?;
    Ok(found.into_iter().fold(start, |best, candidate| if candidate.cost < best.cost { candidate } else { best }))
}

/// A point, followed by the points around it: two along each direction, on either side.
fn around(point: &Parameters, directions: &[Direction]) -> Vec<Parameters> {
    let sides =
        directions.iter().flat_map(|direction| [-AWAY, AWAY].map(|distance| along(point, direction, distance)));
    [*point].into_iter().chain(sides).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{IDENTITY, directions};

    #[test]
    fn line_searches_begin_on_either_side_along_each_direction() {
        let found = around(&IDENTITY, &directions(Dof::Rigid6, 2.0));
        assert_eq!((found.len(), found[0]), (13, IDENTITY));
        // Three tolerances on the 2 mm level are 0.03 radians or 1.2 mm.
        for (n, point) in found[1..].iter().enumerate() {
            let mut expected = IDENTITY;
            expected[n / 2] = if n % 2 == 0 { -1.0 } else { 1.0 } * if n < 6 { 0.03 } else { 1.2 };
            (0..12).for_each(|i| assert!((point[i] - expected[i]).abs() < 1e-12, "{point:?} for {expected:?}"));
        }
    }
}
