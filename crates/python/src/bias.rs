//! N4 bias field correction for Python: removes the shading of images by the scanner's coil.

use antsreg_study::Error;
use antsreg_study::bias::{Background, Correction};
use antsreg_study::inputs;
use pyo3::prelude::*;

use crate::devices::Lease;
use crate::error::Failure;
use crate::image::Image;
use crate::plan::read;
use crate::process;

/// Corrects the shading of an image by N4. Returns the corrected image, and the bias field by which the image was
/// divided, both on the image's grid. `options` are the options of N4 as JSON; missing options have their defaults.
/// Without a mask all voxels above zero are used.
#[pyfunction]
#[pyo3(signature = (image, mask, weights, options, rescale, device))]
pub fn bias_correct(
    py: Python,
    image: &Image,
    mask: Option<&Image>,
    weights: Option<&Image>,
    options: &str,
    rescale: bool,
    device: &str,
) -> Result<(Image, Image), Failure> {
    let options = read(options)?;
    process::compute(py, || {
        let volume = image.volume()?;
        inputs::check_contrast(volume, &image.name)?;
        let mask = mask.map(|mask| {
            Ok::<_, Failure>(inputs::as_mask(mask.volume()?.clone(), &mask.name, &image.name, &volume.grid)?)
        });
        let mask = mask.transpose()?;
        let weights = weights.map(|weights| {
            let given = weights.volume()?;
            inputs::check_grid(&weights.name, &given.grid, &image.name, &volume.grid, "linear")?;
            Ok::<_, Failure>(given)
        });
        let lease = Lease::open(device)?;
        let correction = Correction {
            name: &image.name,
            image: volume,
            mask: mask.as_ref(),
            background: Background::LeftOut,
            weights: weights.transpose()?,
            geometries: None,
            options: &options,
            rescale,
            device: &lease.device,
        };
        let (corrected, field) = correction.find()?;
        let factors = field
            .on(&volume.grid, &lease.device)
            .map_err(|source| Error::Bias { path: image.name.clone(), source })?;
        Ok((
            Image::made(corrected, "the corrected image", image.planar),
            Image::made(factors, "the bias field", image.planar),
        ))
    })
}
