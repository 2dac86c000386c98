//! From coarse to fine.

use antsreg_core::report::{Observer, Report, Step};
use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::Backend;

use crate::convergence::converged;
use crate::fields::{Side, warps};
use crate::fixed::Fixed;
use crate::iteration::Stepper;
use crate::load::Loaded;
use crate::metrics::Similarity;
use crate::{Course, Error, Images, LevelOutcome, Options, Outcome, Warps};

/// Registers `moving` to `fixed`, starting from `initial` (fixed → moving, RAS mm).
///
/// A side is one volume, one with its mask, or several [`Images`], one for each of `options.channels`. The metrics count
/// only points inside both masks. Both warps come out on the fixed grid, in RAS mm: a fixed point goes through the warp,
/// then through `initial`, to the moving one.
///
/// The method is that of Avants et al. (2008) as ANTs has it; [`Backend`] says where each operation departs from it.
///
/// # Errors
/// A constant image; not one image for each channel, or a weight that is not above 0; a mask on another grid than its
/// image; an `initial` without inverse; a schedule without levels; displacements that are no numbers in the end; a device
/// that fails.
pub fn register<'a, B: Backend>(
    backend: &B,
    fixed: impl Into<Images<'a>>,
    moving: impl Into<Images<'a>>,
    initial: &AffineTransform,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    Fixed::new(backend, fixed, options)?.register(backend, moving, initial, observer)
}

/// The least that a level must gain in agreement: rounding may feign a tenth of it, and a registration that is any good gains
/// thousands.
const LEAST_GAIN: f64 = 1e-5;

/// Whether a level with these agreements, each of them before a step, left the images no more alike than it found them.
///
/// Steps have a length of their own, however little pulls. Two images that are alike already would be jostled apart, and
/// not quite put together again; or both be drawn hand in hand to where their windows have more contrast, which lowers the
/// energy where there is noise to be disregarded, so far that the one way is no longer the inverse of the other.
fn gained_nothing(agreements: &[f64]) -> bool {
    // What a single step does is not known.
    matches!(agreements, [first, .., last] if last - first < LEAST_GAIN)
}

/// Registers to a fixed side that is on the device already.
pub(crate) fn run<B: Backend>(
    backend: &B,
    fixed: &Fixed<B>,
    moving: &Images<'_>,
    initial: &AffineTransform,
    observer: &mut dyn Observer,
) -> Result<(Warps<B>, Course), Error> {
    if initial.inverse().is_none() {
        return Err(Error::SingularStart);
    }
    let (options, full) = (&fixed.options, fixed.loaded.grid());
    let moving_loaded = Loaded::new(backend, "moving", moving, options)?;
    let mut levels = Vec::new();
    let mut state: Option<(Grid, [Side<B>; 2])> = None;
    for (index, level) in options.levels.iter().enumerate() {
        let grid = full.shrink([level.shrink; 3]);
        let begin = || match &state {
            Some((from, sides)) => Side::on(sides, backend, from, &grid),
            None => Side::identities(backend, &grid),
        };
        let mut sides = begin()?;
        let fixed_smooth = fixed.smoothed(backend, index)?;
        let moving_smooth = moving_loaded.smoothed(backend, level.sigma_voxels)?;
        let fixed_sources = fixed.loaded.sources(&fixed_smooth, &grid, &AffineTransform::identity());
        let moving_sources = moving_loaded.sources(&moving_smooth, &grid, initial);
        let mut stepper = Stepper::new(backend, &grid, [&fixed_sources, &moving_sources], options)?;
        let mut outcome =
            LevelOutcome { shrink: level.shrink, energies: Vec::new(), converged: false, undone: false };
        let mut agreements = Vec::new();
        while outcome.energies.len() < level.iterations && !outcome.converged {
            let Similarity { energy, agreement } = stepper.step(
                backend,
                options,
                (outcome.energies.len() + 1).is_multiple_of(level.reinvert_every),
                [&fixed_sources, &moving_sources],
                &mut sides,
            )?;
            outcome.energies.push(energy);
            agreements.push(agreement);
            outcome.converged = converged(&outcome.energies, &options.convergence);
            let flow = observer.report(&Report {
                step: Step::Deformable { shrink: level.shrink },
                level: index,
                levels: options.levels.len(),
                iteration: outcome.energies.len(),
                iterations: level.iterations,
                energy,
            });
            if flow.is_break() {
                return Err(Error::Stopped);
            }
        }
        drop(stepper);
        if gained_nothing(&agreements) {
            outcome.undone = true;
            sides = begin()?;
        }
        levels.push(outcome);
        state = Some((grid, sides));
    }
    let Some((grid, mut sides)) = state else {
        return Err(Error::NoLevels);
    };
    if grid.shape != full.shape {
        sides = Side::on(&sides, backend, &grid, full)?;
    }
    let (warps, relaxed) = warps(backend, full, &sides, options.largest_residual_voxels)?;
    Ok((warps, Course { levels, relaxed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_undone_only_where_more_than_one_step_is_known_to_gain_nothing() {
        assert!(gained_nothing(&[0.9, 0.8]) && gained_nothing(&[0.9, 0.95, 0.9]) && gained_nothing(&[0.0, 0.0]));
        assert!(gained_nothing(&[1.0, 1.0 + 0.1 * LEAST_GAIN]));
        assert!(!gained_nothing(&[0.9, 0.8, 0.901]) && !gained_nothing(&[-0.5, -0.4]));
        assert!(!gained_nothing(&[]) && !gained_nothing(&[0.9]));
    }
}
