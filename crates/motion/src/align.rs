//! The alignment of one volume: steps of regression, coarse to fine.

use antsreg_core::{AffineTransform, Volume};

use crate::Error;
use crate::reference::{Reference, Smoothed};
use crate::regression::Sums;

/// A step that moves points at 50 mm by less has converged on the finest level, mm; on coarser levels ten times as much.
const CONVERGED_MM: f64 = 1e-3;
/// The share of the points that must lie inside the volume.
const LEAST_SHARE: f64 = 0.3;

/// A volume that is aligned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aligned {
    /// From points of the reference to points of the volume, RAS mm.
    pub transform: AffineTransform,
    /// The cost on the finest level: 1 less the correlation, or the mean squared difference in units of the variance of the
    /// reference.
    pub cost: f64,
    /// The share of the points compared that lies inside the volume.
    pub overlap: f64,
}

/// One volume on one level.
struct OnLevel<'a> {
    reference: &'a Reference,
    level: usize,
    volume: &'a Smoothed,
    world_to_voxel: AffineTransform,
}

impl OnLevel<'_> {
    /// The sums at a transform, if enough points lie inside the volume.
    fn sums(&self, transform: &AffineTransform) -> Result<Sums, Error> {
        let points = &self.reference.levels[self.level].points;
        let to_voxel = self.world_to_voxel.after(transform);
        let sums = Sums::new(points, &self.volume.spline, self.volume.shape, &to_voxel, self.volume.margin);
        let of = points.positions.len();
        if (sums.count as f64) < LEAST_SHARE * of as f64 {
            return Err(Error::NoOverlap { found: sums.count, of });
        }
        Ok(sums)
    }

    /// The best transform that steps from `start` reach.
    fn descend(&self, start: AffineTransform) -> Result<Aligned, Error> {
        let options = &self.reference.options;
        let finest = self.level + 1 == self.reference.levels.len();
        let converged = if finest { CONVERGED_MM } else { 10.0 * CONVERGED_MM };
        let mut transform = start;
        let mut sums = self.sums(&transform)?;
        let mut cost = sums.objective(options.cost);
        let mut step = sums.solve(options.cost)?;
        for _ in 0..options.iterations {
            let back: Vec<f64> = step.iter().map(|value| -value).collect();
            let tried = transform.after(&self.reference.generators.map(&back));
            let size = step.iter().map(|value| value * value).sum::<f64>().sqrt();
            let better = self.sums(&tried).ok().map(|sums| (sums.objective(options.cost), sums));
            match better.filter(|(tried, _)| *tried < cost) {
                Some((lower, at)) => {
                    (transform, cost, sums) = (tried, lower, at);
                    if size < converged {
                        break;
                    }
                    step = sums.solve(options.cost)?;
                }
                None if size < converged => break,
                None => step.iter_mut().for_each(|value| *value *= 0.5),
            }
        }
        let of = self.reference.levels[self.level].points.positions.len();
        Ok(Aligned { transform, cost, overlap: sums.count as f64 / of as f64 })
    }
}

/// Aligns a prepared volume from the best of several starts, each optimised on the coarsest level.
pub(crate) fn align(
    reference: &Reference,
    prepared: &[Smoothed],
    volume: &Volume,
    starts: &[AffineTransform],
) -> Result<Aligned, Error> {
    let world_to_voxel = volume.grid.world_to_voxel();
    let on = |level: usize| OnLevel { reference, level, volume: &prepared[level], world_to_voxel };
    let mut found: Result<Aligned, Error> = Err(Error::Undetermined);
    for start in starts {
        let tried = on(0).descend(*start);
        let better = match (&found, &tried) {
            (Err(_), _) => true,
            (Ok(best), Ok(tried)) => tried.cost < best.cost,
            (Ok(_), Err(_)) => false,
        };
        if better {
            found = tried;
        }
    }
    for level in 1..reference.levels.len() {
        found = on(level).descend(found?.transform);
    }
    found
}
