//! Alignment of the volumes of a series to the reference by steps of regression, from coarse to fine levels. All
//! volumes take each step together, so that a device computes the sums for all volumes in one call.

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::{Backend, FitRule};
use rayon::prelude::*;

use crate::aligned::Aligned;
use crate::information;
use crate::reference::{Prepared, Reference, margin};
use crate::regression::Sums;
use crate::{Cost, Error};

/// A volume has converged on the finest level when a step moves points at 50 mm from the centre by less than this, mm.
/// On coarser levels the limit is ten times as large.
const CONVERGED_MM: f64 = 1e-3;
/// Smallest share of the reference's compared points that must lie inside a volume. With fewer points inside, the
/// volume cannot be aligned.
const LEAST_SHARE: f64 = 0.3;
/// The transform of each volume is searched for step by step, and the volumes' searches run in parallel. This is the
/// smallest number of searches whose next step one CPU task computes.
const TOGETHER: usize = 4;

impl<B: Backend> Reference<'_, B> {
    /// Aligns a volume to the reference. The cost is minimised from each of the initial transforms `starts`, and the
    /// best result is returned.
    ///
    /// # Errors
    /// A volume without contrast; a volume that does not overlap with the reference from any of the initial transforms;
    /// a device that fails.
    pub fn align(&self, volume: &Volume, starts: &[AffineTransform]) -> Result<Aligned, Error> {
        let prepared = self.prepare(volume)?;
        let starts: Vec<AffineTransform> = starts.iter().map(|start| self.unit.transform(start)).collect();
        let mut found = align(self, &[&prepared], &[&starts])?;
        found.pop().unwrap_or(Err(Error::Undetermined)).map(|found| found.in_mm(self.unit))
    }
}

/// State of the search for the transform of one volume, from one initial transform, on one level of smoothing.
struct Descent {
    /// Index of this volume in the list of the volumes that are aligned together.
    volume: usize,
    /// The best transform so far, with its cost and its share of points inside the volume; `None` before the first
    /// evaluation.
    best: Option<Aligned>,
    /// Motion parameters of the step from the best transform so far to the transform that is tried next.
    step: Vec<f64>,
    /// The transform that this search evaluates next. For it, the device computes the sums of the least-squares fit of
    /// the volume by functions of the reference.
    tried: AffineTransform,
    /// Number of steps that the search for this volume's transform may still make.
    left: usize,
    done: Option<Result<Aligned, Error>>,
}

/// Settings of the search for a volume's transform on one level of smoothing.
struct Rules<'a> {
    cost: Cost,
    converged: f64,
    points: f64,
    back: &'a (dyn Fn(&[f64]) -> AffineTransform + Sync),
}

impl Descent {
    fn new(volume: usize, start: AffineTransform, steps: usize) -> Descent {
        Descent { volume, best: None, step: Vec::new(), tried: start, left: steps, done: None }
    }

    /// Receives the sums of the least-squares fit of the volume to the reference, for the transform that was tried.
    /// Chooses the transform that is tried next.
    fn receive(&mut self, sums: &Sums, rules: &Rules<'_>) {
        let here = if sums.count < LEAST_SHARE * rules.points {
            Err(Error::NoOverlap { found: sums.count as usize, of: rules.points as usize })
        } else {
            let (cost, overlap) = (sums.objective(rules.cost), sums.count / rules.points);
            Ok(Aligned { transform: self.tried, cost, overlap })
        };
        let size = self.step.iter().map(|value| value * value).sum::<f64>().sqrt();
        match (here, self.best) {
            (Err(error), None) => return self.done = Some(Err(error)),
            (Ok(here), best) if best.is_none_or(|best| here.cost < best.cost) => {
                self.best = Some(here);
                if best.is_some() && size < rules.converged {
                    return self.done = Some(Ok(here));
                }
                match sums.solve(rules.cost) {
                    Ok(step) => self.step = step,
                    Err(error) => return self.done = Some(Err(error)),
                }
            }
            (_, Some(best)) if size < rules.converged => return self.done = Some(Ok(best)),
            _ => self.step.iter_mut().for_each(|value| *value *= 0.5),
        }
        let Some(best) = self.best else { return self.done = Some(Err(Error::Undetermined)) };
        if self.left == 0 {
            return self.done = Some(Ok(best));
        }
        self.left -= 1;
        self.tried = best.transform.after(&(rules.back)(&self.step));
    }
}

/// Minimises the cost of alignment on one level of smoothing. Each of the `starts` is a search: the index of a volume
/// and an initial transform. Returns the results in the order of the `starts`.
fn descend<B: Backend>(
    reference: &Reference<'_, B>,
    level: usize,
    volumes: &[&Prepared<B>],
    starts: impl IntoIterator<Item = (usize, AffineTransform)>,
) -> Result<Vec<Result<Aligned, Error>>, Error> {
    let Some(first) = volumes.first() else { return Ok(Vec::new()) };
    let (options, points) = (&reference.options, &reference.levels[level].points);
    let rule = FitRule { margin: margin(&first.grid, reference.levels[level].sigma_mm), ..points.rule };
    let finest = level + 1 == reference.levels.len();
    // The fit gives the motion after which the reference is most similar to the volume. The transform, from the
    // reference to the volume, is changed by the opposite motion.
    let back = |step: &[f64]| {
        let opposite: Vec<f64> = step.iter().map(|value| -value).collect();
        reference.generators.map(&opposite)
    };
    let rules = Rules {
        cost: options.cost,
        converged: if finest { CONVERGED_MM } else { 10.0 * CONVERGED_MM },
        points: points.count as f64,
        back: &back,
    };
    let to_voxels: Vec<AffineTransform> = volumes.iter().map(|volume| volume.grid.world_to_voxel()).collect();
    let images: Vec<&B::Image> = volumes.iter().map(|volume| &volume.levels[level]).collect();
    let mut descents: Vec<Descent> =
        starts.into_iter().map(|(volume, start)| Descent::new(volume, start, options.iterations)).collect();
    loop {
        let active: Vec<&mut Descent> = descents.iter_mut().filter(|descent| descent.done.is_none()).collect();
        if active.is_empty() {
            break;
        }
        let at: Vec<(usize, AffineTransform)> =
            active.iter().map(|descent| (descent.volume, to_voxels[descent.volume].after(&descent.tried))).collect();
        let found = reference.device.fit_sums(&points.image, &images, &rule, &at)?;
        let both = active.into_par_iter().zip(&found).with_min_len(TOGETHER);
        both.for_each(|(descent, found)| descent.receive(&Sums::of(points, found), &rules));
    }
    Ok(descents.into_iter().map(|descent| descent.done.unwrap_or(Err(Error::Undetermined))).collect())
}

/// Returns the alignment of a volume with the lowest cost, of those from several initial transforms; the first error if
/// all of them failed.
pub(crate) fn best(found: impl IntoIterator<Item = Result<Aligned, Error>>) -> Result<Aligned, Error> {
    let better = |best: Result<Aligned, Error>, found: Result<Aligned, Error>| match (&best, &found) {
        (Ok(kept), Ok(found)) if kept.cost <= found.cost => best,
        (Ok(_) | Err(_), Err(_)) => best,
        _ => found,
    };
    found.into_iter().reduce(better).unwrap_or(Err(Error::Undetermined))
}

/// Minimises the cost on the coarsest level, for each volume from each of its initial transforms (`starts`). Returns
/// the best result of each volume.
pub(crate) fn approach<B: Backend>(
    reference: &Reference<'_, B>,
    volumes: &[&Prepared<B>],
    starts: &[&[AffineTransform]],
) -> Result<Vec<Result<Aligned, Error>>, Error> {
    let all = starts.iter().enumerate().flat_map(|(volume, starts)| starts.iter().map(move |start| (volume, *start)));
    let mut found = descend(reference, 0, volumes, all)?.into_iter();
    Ok(starts.iter().map(|starts| best(found.by_ref().take(starts.len()).collect::<Vec<_>>())).collect())
}

/// Refines the transforms that were found on the coarsest level, on all finer levels. A volume whose result is an error
/// keeps this error.
pub(crate) fn refine<B: Backend>(
    reference: &Reference<'_, B>,
    volumes: &[&Prepared<B>],
    mut found: Vec<Result<Aligned, Error>>,
) -> Result<Vec<Result<Aligned, Error>>, Error> {
    for level in 1..reference.levels.len() {
        let starts: Vec<(usize, AffineTransform)> = found
            .iter()
            .enumerate()
            .filter_map(|(volume, found)| Some((volume, found.as_ref().ok()?.transform)))
            .collect();
        let refined = descend(reference, level, volumes, starts.iter().copied())?;
        starts.iter().zip(refined).for_each(|((volume, _), refined)| found[*volume] = refined);
    }
    if let Some(fixed) = &reference.binned {
        for (found, volume) in found.iter_mut().zip(volumes) {
            if let (Ok(aligned), Some(moving)) = (&found, &volume.moving) {
                let to_voxel = volume.grid.world_to_voxel();
                *found = Ok(information::refine(
                    reference.device,
                    &reference.generators,
                    fixed,
                    moving,
                    &to_voxel,
                    *aligned,
                )?);
            }
        }
    }
    Ok(found)
}

/// Aligns prepared volumes to the reference. Of the results from its initial transforms (`starts`), each volume gets
/// the best.
pub(crate) fn align<B: Backend>(
    reference: &Reference<'_, B>,
    volumes: &[&Prepared<B>],
    starts: &[&[AffineTransform]],
) -> Result<Vec<Result<Aligned, Error>>, Error> {
    refine(reference, volumes, approach(reference, volumes, starts)?)
}
