//! From coarse to fine.

use antsreg_core::intensity::quantiles;
use antsreg_core::report::{Observer, Report, Stage};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Backend;
use rayon::prelude::*;

use crate::convergence::converged;
use crate::fields::{Side, warps};
use crate::fixed::Fixed;
use crate::iteration::{Source, Stepper};
use crate::{Error, LevelOutcome, Options, Outcome};

/// An image on the device at full resolution.
pub(crate) struct Loaded<B: Backend> {
    pub(crate) image: B::Image,
    mask: Option<B::Image>,
    pub(crate) grid: Grid,
    /// World of the middle space (the fixed one) → world of the image.
    from_fixed_world: AffineTransform,
}

/// Registers `moving` to `fixed`, starting from `initial` (fixed → moving, RAS mm).
///
/// Masks (above 0.5 is inside) lie on the grids of their images; the metric counts only points inside both.
pub fn register<B: Backend>(
    backend: &B,
    fixed: (&Volume, Option<&Volume>),
    moving: (&Volume, Option<&Volume>),
    initial: &AffineTransform,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    Fixed::new(backend, fixed, options)?.register(backend, moving, initial, observer)
}

/// Registers to a fixed side that is on the device already.
pub(crate) fn run<B: Backend>(
    backend: &B,
    fixed: &Fixed<B>,
    (moving, moving_mask): (&Volume, Option<&Volume>),
    initial: &AffineTransform,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    if initial.inverse().is_none() {
        return Err(Error::SingularStart);
    }
    let (options, fixed_loaded) = (&fixed.options, &fixed.loaded);
    let moving_loaded = load(backend, "moving", moving, moving_mask, *initial, options)?;
    let mut levels = Vec::new();
    let mut state: Option<(Grid, Side<B>, Side<B>)> = None;
    for (index, level) in options.levels.iter().enumerate() {
        let grid = fixed_loaded.grid.shrink([level.shrink; 3]);
        let (mut fixed_side, mut moving_side) = match state {
            Some((from, fixed_side, moving_side)) => {
                (fixed_side.on(backend, &from, &grid)?, moving_side.on(backend, &from, &grid)?)
            }
            None => (Side::identity(backend, &grid)?, Side::identity(backend, &grid)?),
        };
        let fixed_smooth = fixed.smoothed(backend, index)?;
        let moving_smooth = backend.smooth(&moving_loaded.image, [level.sigma_voxels; 3])?;
        let fixed_source = fixed_loaded.source(&fixed_smooth, &grid);
        let moving_source = moving_loaded.source(&moving_smooth, &grid);
        let mut stepper = Stepper::new(backend, &grid, &fixed_source, &moving_source, options)?;
        let mut outcome = LevelOutcome { shrink: level.shrink, energies: Vec::new(), converged: false };
        while outcome.energies.len() < level.iterations && !outcome.converged {
            let energy = stepper.step(
                backend,
                options,
                outcome.energies.len() + 1,
                (&fixed_source, &mut fixed_side),
                (&moving_source, &mut moving_side),
            )?;
            outcome.energies.push(energy);
            outcome.converged = converged(&outcome.energies, &options.convergence);
            observer.report(&Report {
                stage: Stage::Syn,
                level: index,
                levels: options.levels.len(),
                what: format!("shrink {}", level.shrink),
                iteration: outcome.energies.len(),
                iterations: level.iterations,
                energy,
            });
        }
        levels.push(outcome);
        state = Some((grid, fixed_side, moving_side));
    }
    let Some((grid, mut fixed_side, mut moving_side)) = state else {
        return Err(Error::NoLevels);
    };
    let full = &fixed_loaded.grid;
    if grid.shape != full.shape {
        fixed_side = fixed_side.on(backend, &grid, full)?;
        moving_side = moving_side.on(backend, &grid, full)?;
    }
    let (warp, inverse_warp) = warps(backend, full, &fixed_side, &moving_side)?;
    Ok(Outcome { warp, inverse_warp, levels })
}

impl<B: Backend> Loaded<B> {
    fn source<'a>(&'a self, smoothed: &'a B::Image, grid: &Grid) -> Source<'a, B> {
        let grid_to_image = self.grid.world_to_voxel().after(&self.from_fixed_world).after(&grid.voxel_to_world());
        Source { image: smoothed, mask: self.mask.as_ref(), grid_to_image }
    }
}

/// Winsorises, rescales to 0…1 and uploads.
pub(crate) fn load<B: Backend>(
    backend: &B,
    name: &'static str,
    volume: &Volume,
    mask: Option<&Volume>,
    from_fixed_world: AffineTransform,
    options: &Options,
) -> Result<Loaded<B>, Error> {
    let (low_share, high_share) = options.winsorise.unwrap_or((0.0, 1.0));
    let (low, high) = quantiles(&volume.voxels, low_share, high_share)
        .filter(|(low, high)| low < high)
        .ok_or(Error::Constant(name))?;
    let scale = 1.0 / (high - low);
    let voxels: Vec<f32> = volume.voxels.par_iter().map(|v| (v.clamp(low, high) - low) * scale).collect();
    let mask = mask
        .map(|mask| {
            if !mask.grid.matches(&volume.grid, 1e-3 * volume.grid.spacing.min()) {
                return Err(Error::MaskGrid(name));
            }
            Ok(backend.upload(mask.grid.shape, &mask.voxels)?)
        })
        .transpose()?;
    let image = backend.upload(volume.grid.shape, &voxels)?;
    Ok(Loaded { image, mask, grid: volume.grid.clone(), from_fixed_world })
}
