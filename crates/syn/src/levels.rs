//! The levels of a deformable stage, from coarse to fine.

use antsreg_core::AffineTransform;
use antsreg_core::report::{self, Observer, Report};
use antsreg_core::schedule::Level;
use antsreg_kernels::Backend;

use crate::convergence::converged;
use crate::error::go_on;
use crate::fields::Fields;
use crate::fixed::{Fixed, KeptOrMade};
use crate::iteration::Stepper;
use crate::load::{Loaded, Sources};
use crate::metrics::Similarity;
use crate::smoothing::Smoothing;
use crate::update::Step;
use crate::{Error, Images, LevelOutcome, Metric, Options, Outcome};

/// Registers `moving` to `fixed`, starting from `initial` (fixed → moving, RAS mm).
///
/// `fixed` and `moving` each are one volume, one volume with its mask, or [`Images`] with one image for each of
/// `options.channels`. The metrics use only points inside both masks. Both warps lie on the fixed grid, in RAS mm. A
/// fixed point is mapped by the warp, then by `initial`, to the moving point.
///
/// The method is that of Avants et al. (2008) as implemented in ANTs; [`Backend`] says where an operation differs.
///
/// # Errors Options out of range ([`Options::check`]); a constant image; a number of images that differs from the
/// number of channels; a mask on another grid than its image; a singular `initial`; displacements that are not finite
/// numbers; a device that fails; an observer that stops the run.
pub fn register<'a, B: Backend>(
    backend: &B,
    fixed: impl Into<Images<'a, B::Image>>,
    moving: impl Into<Images<'a, B::Image>>,
    initial: &AffineTransform,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let mut fixed = Fixed::new(backend, fixed, options, observer)?;
    let found = fixed.find_last(backend, moving, initial, None, observer)?;
    fixed.outcome(backend, found, observer)
}

/// The smallest gain in agreement (similarity that contrast does not raise) for which a level's result is kept.
/// Rounding causes gains of up to a tenth of this. A level that improves the alignment gains a thousand times as much.
const LEAST_GAIN: f64 = 1e-5;

/// How often a level is run again with steps of half the length, if its steps were [`too_long`].
const MOST_SHORTENED: usize = 2;

/// Whether the steps of a level that gained nothing were too long: at least a quarter of all changes of the energy are
/// rises. On a grid of few voxels, long steps pass the best place again and again, so rises and falls alternate and are
/// about equal. If images that are aligned already drift apart, the energy falls with nearly every step: shorter steps
/// would only drift more slowly.
fn too_long(energies: &[f64]) -> bool {
    let changes = energies.windows(2).map(|pair| pair[1] - pair[0]);
    let (rises, all) = changes.fold((0.0, 0.0), |(rises, all), change| (rises + change.max(0.0), all + change.abs()));
    all > 0.0 && 4.0 * rises >= all
}

/// Whether a level failed to make the images more similar. `agreements` are the agreements of the images (similarities
/// that contrast does not raise) before each step of the level.
///
/// The length of a step does not depend on the length of the gradient. So two images that are already aligned drift
/// apart and do not return completely. Or both images drift together to places where the correlation windows have more
/// contrast, because the energy is lower there if the metric accounts for noise. Such a drift can go so far that the
/// warps are no longer inverse to each other.
fn gained_nothing(agreements: &[f64]) -> bool {
    // The result of a level with a single step is kept: agreements are measured before each step, so the effect of one
    // step is unknown.
    matches!(agreements, [first, .., last] if last - first < LEAST_GAIN)
}

/// Runs all resolution levels of a deformable stage, starting from zero displacements or from the displacement fields
/// of an earlier stage. Returns the fields on the grid of the last level, or on the grid of the earlier stage if that
/// grid is finer. `images` are the fixed images. If nothing else uses them, they may be overwritten.
pub(crate) fn run<B: Backend>(
    backend: &B,
    fixed: &Fixed<B>,
    images: Loaded<B>,
    moving: Images<'_, B::Image>,
    initial: &AffineTransform,
    from: Option<Fields<B>>,
    observer: &mut dyn Observer,
) -> Result<(Fields<B>, Vec<LevelOutcome>), Error> {
    if initial.inverse().is_none() {
        return Err(Error::SingularStart);
    }
    let (options, full) = (fixed.options(), &images.grid().clone());
    images.check_channels(options)?;
    from.as_ref().map_or(Ok(()), |from| from.check_grid(full))?;
    let moving = Loaded::new(backend, moving, Some(&images), options, observer)?;
    let levels = &options.levels;
    let mut fields = match from {
        // A stage without any iterations returns the given fields unchanged, on their own grid.
        Some(from) if levels.iter().all(|level| level.iterations == 0) => {
            return Ok((from, levels.iter().map(LevelOutcome::of_nothing).collect()));
        }
        from => from,
    };
    let [of_fixed, of_moving] = images.curves(&moving, options.boundary_contrast);
    let as_prepared = of_fixed.iter().all(Option::is_none);
    let (images, moving) = (images.mapped(backend, of_fixed)?, moving.mapped(backend, of_moving)?);
    let mut stage = Stage { backend, fixed, images, as_prepared, moving, initial, observer };
    let mut outcomes = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let (reached, outcome) = stage.run_level(index, fields.as_ref())?;
        fields = Some(match fields {
            Some(mut fine) if fine.shrink() < level.shrink => {
                if !outcome.undone && !outcome.energies.is_empty() {
                    let start = fine.resized(backend, full, level.shrink, stage.observer)?;
                    fine.add_change(backend, start, reached, stage.observer)?;
                }
                fine
            }
            _ => reached,
        });
        outcomes.push(outcome);
    }
    Ok((fields.ok_or(Error::NoLevels)?, outcomes))
}

/// What a deformable stage works with while it runs: the fixed and moving images, the start transform, and the
/// observer, which gets reports and may stop the run.
struct Stage<'a, B: Backend> {
    backend: &'a B,
    fixed: &'a Fixed<B>,
    images: Loaded<B>,
    /// Whether `images` are those of `fixed`, so that their smoothed images may be kept there.
    as_prepared: bool,
    moving: Loaded<B>,
    initial: &'a AffineTransform,
    observer: &'a mut dyn Observer,
}

impl<B: Backend> Stage<'_, B> {
    /// Runs the iterations of one resolution level. They start from zero displacements, or from the displacement fields
    /// of the level before, resampled on this level's grid.
    fn run_level(&mut self, index: usize, before: Option<&Fields<B>>) -> Result<(Fields<B>, LevelOutcome), Error> {
        let Stage { backend, fixed, images, as_prepared, moving, initial, observer } = self;
        let (backend, options, full) = (*backend, fixed.options(), images.grid());
        let level = &options.levels[index];
        let begin = |observer: &mut dyn Observer| match before {
            Some(before) => before.resized(backend, full, level.shrink, observer),
            None => Fields::identities(backend, full, level.shrink),
        };
        let mut fields = begin(*observer)?;
        let fixed_smooth = match as_prepared {
            true => fixed.smoothed(backend, images, index, *observer)?,
            false => KeptOrMade::Made(images.smoothed(backend, options, index, *observer)?),
        };
        let moving_smooth = moving.smoothed(backend, options, index, *observer)?;
        let fixed_sources = images.sources(&fixed_smooth, fields.grid(), &AffineTransform::identity());
        let moving_sources = moving.sources(&moving_smooth, fields.grid(), initial);
        let sources = [&fixed_sources, &moving_sources];
        let smoothing = Smoothing::new(backend, options, full, index, fields.grid())?;
        let stepper = Stepper::new(backend, fields.grid(), sources, options, smoothing)?;
        let mut ascent = Ascent { backend, options, index, level, sources, stepper };
        // The energy of a joint histogram rises and falls on its own, whatever the length of the steps.
        let shortens = !options.uses(Metric::Mattes);
        let (mut length, mut shortened) = (options.gradient_step, 0);
        loop {
            let (mut outcome, agreements) = ascent.run(length, &mut fields, *observer)?;
            if !gained_nothing(&agreements) {
                return Ok((fields, outcome));
            }
            // Their memory is free before the new ones take theirs.
            drop(fields);
            fields = begin(*observer)?;
            if shortened == MOST_SHORTENED || !shortens || !too_long(&outcome.energies) {
                outcome.undone = true;
                return Ok((fields, outcome));
            }
            (length, shortened) = (length / 2.0, shortened + 1);
        }
    }
}

/// The iterations of one level.
struct Ascent<'a, B: Backend> {
    backend: &'a B,
    options: &'a Options,
    index: usize,
    level: &'a Level,
    /// The fixed and the moving images of the level.
    sources: [&'a Sources<'a, B>; 2],
    stepper: Stepper<B>,
}

impl<B: Backend> Ascent<'_, B> {
    /// Moves `fields` with steps of `length` voxels until the level has converged or has no more iterations. Returns
    /// the outcome, and the agreement of the images before each step.
    fn run(
        &mut self,
        length: f64,
        fields: &mut Fields<B>,
        observer: &mut dyn Observer,
    ) -> Result<(LevelOutcome, Vec<f64>), Error> {
        let Ascent { backend, options, index, level, sources, stepper } = self;
        let (mut outcome, mut agreements) = (LevelOutcome::of_nothing(level), Vec::new());
        while outcome.energies.len() < level.iterations && !outcome.converged {
            let reinvert = (outcome.energies.len() + 1).is_multiple_of(level.reinvert_every);
            let step = Step { length, reinvert };
            let Similarity { energy, agreement } =
                stepper.step(*backend, options, step, *sources, &mut fields.sides, observer)?;
            outcome.energies.push(energy);
            agreements.push(agreement);
            outcome.converged = converged(&outcome.energies, &options.convergence);
            go_on(observer.report(&Report {
                step: report::Step::Deformable { shrink: level.shrink },
                level: *index,
                levels: options.levels.len(),
                iteration: outcome.energies.len(),
                iterations: level.iterations,
                energy,
            }))?;
        }
        Ok((outcome, agreements))
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::schedule::Level;
    use antsreg_core::{Grid, Volume};
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;

    #[test]
    fn a_level_on_the_grid_of_the_level_before_passes_its_own_fields_on() {
        let grid = Grid::axis_aligned([20, 18, 16], [1.0; 3]);
        // A ball whose centre is moved along x.
        let ball = |moved: f32| {
            let square = |at: usize, middle: f32| (at as f32 - middle).powi(2);
            let value = |n: usize| {
                let squares = square(n % 20, 9.0 + moved) + square(n / 20 % 18, 8.0) + square(n / 360, 7.0);
                100.0 * (-squares / 20.0).exp()
            };
            Volume { voxels: (0..grid.len()).map(value).collect(), grid: grid.clone() }
        };
        let level = |iterations| Level { shrink: 1, sigma_voxels: 1.0, iterations, reinvert_every: 1 };
        let levels = vec![level(3), level(2)];
        let options = Options { levels, boundary_contrast: 0.0, ..Options::default() };
        let fixed = Fixed::new(&Cpu, &ball(0.0), &options, &mut ()).expect("fixed images");
        let (moving, initial) = (ball(1.5), AffineTransform::identity());
        let (found, outcomes) =
            run(&Cpu, &fixed, fixed.loaded.shared(), (&moving).into(), &initial, None, &mut ()).expect("fields");
        assert!(outcomes.iter().all(|outcome| !outcome.undone), "{outcomes:?}");
        let moving = Loaded::new(&Cpu, (&moving).into(), Some(&fixed.loaded), &options, &mut ()).expect("images");
        let (fixed, observer): (_, &mut dyn Observer) = (&fixed, &mut ());
        let images = fixed.loaded.shared();
        let mut stage =
            Stage { backend: &Cpu, fixed, images, as_prepared: true, moving, initial: &initial, observer };
        let (first, _) = stage.run_level(0, None).expect("a level");
        let (second, _) = stage.run_level(1, Some(&first)).expect("a level");
        for (found, expected) in found.sides.iter().zip(&second.sides) {
            for (found, expected) in
                [(&found.to_middle, &expected.to_middle), (&found.from_middle, &expected.from_middle)]
            {
                assert_eq!(Cpu.download_field(found).ok(), Cpu.download_field(expected).ok());
            }
        }
    }

    #[test]
    fn a_level_is_undone_only_where_more_than_one_step_is_known_to_gain_nothing() {
        assert!(gained_nothing(&[0.9, 0.8]) && gained_nothing(&[0.9, 0.95, 0.9]) && gained_nothing(&[0.0, 0.0]));
        assert!(gained_nothing(&[1.0, 1.0 + 0.1 * LEAST_GAIN]));
        assert!(!gained_nothing(&[0.9, 0.8, 0.901]) && !gained_nothing(&[-0.5, -0.4]));
        assert!(!gained_nothing(&[]) && !gained_nothing(&[0.9]));
    }

    #[test]
    fn steps_are_too_long_where_the_energy_rises_and_falls() {
        // As on the example pair at 2 mm, with default steps and with steps of half their length.
        assert!(too_long(&[-0.834, -0.784, -0.815, -0.832, -0.822, -0.830, -0.824]));
        let mut shorter = vec![-0.834, -0.844, -0.849, -0.858];
        shorter.extend([-0.8639, -0.8672].repeat(10));
        assert!(too_long(&shorter));
        // Aligned images that drift apart, a single step, and no step.
        assert!(!too_long(&[-0.9, -0.91, -0.92, -0.919, -0.925]) && !too_long(&[-0.9, -0.9]) && !too_long(&[]));
    }
}
