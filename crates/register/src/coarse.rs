//! Makes the coarse copies of a registered pair, from which the verdict is computed.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::ops::Memory as _;
use antsreg_kernels::{Backend, Cpu};
use antsreg_verdict::Seen;

use crate::Error;

/// Full width at half maximum of a Gaussian of standard deviation 1.
const FWHM: f64 = 2.354_820_045;

/// An image on `from`, blurred to the resolution of the grid `to` and read there.
///
/// # Errors
/// A device that fails.
pub(crate) fn coarsen<B: Backend>(backend: &B, image: &B::Image, from: &Grid, to: &Grid) -> Result<Vec<f32>, Error> {
    let sigma = std::array::from_fn(|axis| {
        let [fine, coarse] = [from.spacing[axis], to.spacing[axis]];
        if from.shape[axis] == 1 { 0.0 } else { (coarse * coarse - fine * fine).max(0.0).sqrt() / FWHM / fine }
    });
    let blurred = backend.smooth(image, sigma)?;
    let mut out = backend.image(to.shape)?;
    backend.resample(&blurred, &from.world_to_voxel().after(&to.voxel_to_world()), 0.0, &mut out)?;
    Ok(backend.download(&out)?)
}

/// An image that is 0 where it has no data, with the share of each voxel that has data, both on the fixed grid.
///
/// # Errors
/// A device that fails.
pub(crate) fn seen<B: Backend>(
    backend: &B,
    [image, inside]: [&B::Image; 2],
    from: &Grid,
    to: &Grid,
) -> Result<Seen, Error> {
    let mut values = coarsen(backend, image, from, to)?;
    let inside = coarsen(backend, inside, from, to)?;
    // The blur mixes in zeros from outside the image. Dividing by the share of data removes them.
    for (value, share) in values.iter_mut().zip(&inside) {
        *value = if *share > 0.5 { *value / *share } else { 0.0 };
    }
    Ok(Seen { values, inside })
}

/// As [`seen`] for an image in main memory that is NaN where it has no data.
///
/// # Errors
/// Too little memory.
pub(crate) fn seen_volume(image: &Volume, mask: Option<&Volume>, to: &Grid) -> Result<Seen, Error> {
    let mut inside: Vec<f32> = image.voxels.iter().map(|value| if value.is_nan() { 0.0 } else { 1.0 }).collect();
    if let Some(mask) = mask {
        inside.iter_mut().zip(&mask.voxels).filter(|(_, mask)| **mask <= 0.5).for_each(|(share, _)| *share = 0.0);
    }
    let values: Vec<f32> =
        image.voxels.iter().zip(&inside).map(|(value, share)| if *share > 0.0 { *value } else { 0.0 }).collect();
    let [values, inside] = [Cpu.upload(image.grid.shape, &values)?, Cpu.upload(image.grid.shape, &inside)?];
    seen(&Cpu, [&values, &inside], &image.grid, to)
}
