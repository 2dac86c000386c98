//! The registrations of a pass: their options, their fixed images (the template), and the GPU memory that they need.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_pool::{Devices, Target};
use antsreg_register::{DeviceNote, Grids, Options, Recipe, Side, Stage};

use super::channels::Channels;
use super::reference::Reference;
use super::session::Session;
use crate::Error;
use crate::subjects::largest_grid;

/// The options of the registrations of a pass. The affine pass has only the linear stage.
///
/// # Errors
/// Options that do not fit the template, or are out of range.
pub fn options(session: &Session, pass: usize) -> Result<Options, Error> {
    let grid = session.grid()?;
    let mut options = session.plan.recipe.options(grid.shape)?;
    options.check()?;
    options.check_levels(&grid)?;
    if session.is_affine(pass) {
        options.stages.retain(|stage| matches!(stage, Stage::Linear(_)));
    }
    Ok(options)
}

/// The template as the fixed side of the registrations of a pass, and the options of these registrations.
///
/// # Errors
/// The errors of [`options`].
pub fn target(session: &Session, pass: usize, reference: &Reference) -> Result<Arc<Target>, Error> {
    Ok(Target::new(side(session, pass, &reference.images), options(session, pass)?))
}

/// The fixed or the moving side of a registration in a pass, from the images of all channels. The affine pass uses only
/// the first channel.
pub fn side(session: &Session, pass: usize, images: &Channels) -> Side {
    let further = if session.is_affine(pass) { &[] } else { &images[1..] };
    let channels = further.iter().map(|image| image.clone().into()).collect();
    Side { channels, ..Side::new(images[0].clone()) }
}

/// Free memory that a GPU needs for the registrations, bytes. With the device `auto`, GPUs with less free memory are
/// left out. Registrations need more memory than all other steps.
///
/// # Errors
/// The errors of [`options`].
pub fn device_bytes(session: &Session) -> Result<u64, Error> {
    let (options, grid) = (options(session, session.plan.last_pass)?, session.grid()?);
    let subjects = session.included.iter().flat_map(|subject| &session.subject(*subject).images);
    let files: Vec<&PathBuf> = subjects.map(|file| &file.path).collect();
    let moving = largest_grid(&files).unwrap_or_else(|| grid.clone());
    let further = session.plan.channels.len() - 1;
    let grids = Grids {
        images: [&grid, &moving],
        channels: [vec![&grid; further], vec![&moving; further]],
        masked: [false; 2],
    };
    Ok(options.device_bytes(&grids) + options.prepared_device_bytes(&grids))
}

/// The devices for registrations with the options `recipe`. `auto` means the CPU if no GPU supports the window of the
/// cross-correlation; the reason is returned as well. All steps of a template make the same choice, so that their
/// results are equal to the last bit.
pub fn suitable_devices(recipe: &Recipe, asked: &Devices) -> (Devices, Option<DeviceNote>) {
    asked.for_window(recipe.too_wide_for_gpu(false))
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::{CcDerivative, CcParameters};
    use antsreg_register::{DeviceChoice, Preset, syn};

    use super::*;

    #[test]
    fn auto_is_the_cpu_for_windows_that_no_gpu_has() {
        let recipe = |radius| {
            let usual = Recipe::new(Preset::Default);
            Recipe { syn: syn::Options { radius, derivative: CcDerivative::Exact, ..usual.syn }, ..usual }
        };
        let (auto, gpu) = (Devices::default(), Devices::One(DeviceChoice::Cuda(0)));
        let wide = recipe(CcParameters::MOST_TILED_RADIUS + 1);
        let (chosen, why) = suitable_devices(&wide, &auto);
        assert_eq!(chosen, Devices::One(DeviceChoice::Cpu));
        assert!(matches!(why, Some(DeviceNote::CpuBecause(_))));
        assert_eq!(suitable_devices(&wide, &gpu), (gpu, None));
        assert_eq!(suitable_devices(&recipe(2), &auto), (auto, None));
    }
}
