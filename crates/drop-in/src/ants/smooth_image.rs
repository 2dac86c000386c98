//! The command `SmoothImage`: smooths an image with a Gaussian or a median.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::Stored;
use antsreg_images::{dimensions, filters, recursive_gaussian};
use antsreg_register::Description;

use super::files::{self, Image};
use super::numbers;
use super::words::{positional, switch};
use crate::call::Call;

const USAGE: &str = "\
SmoothImage DIMENSION INPUT SIGMA OUTPUT [IN_MM=0] [MEDIAN=0]

Served by antsreg-gpu. SIGMA: one number or one for each axis (1x1x2), in voxels, or in mm if IN_MM is 1; for MEDIAN the
radius in voxels.
";

/// Runs `SmoothImage`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, sigma, output, rest @ ..]) = positional(&call.arguments, 4..=6, USAGE)? else {
        return Ok(());
    };
    let axes = super::dimension(dimension)?;
    let (input, output) = (Path::new(input), Path::new(output));
    let sigma = numbers::of_axes(sigma, axes.into())?;
    let in_mm = rest.first().map_or(Ok(false), |text| switch("IN_MM", text))?;
    let by_median = rest.get(1).map_or(Ok(false), |text| switch("MEDIAN", text))?;
    files::check_output(output)?;
    let image = Image::read(input, axes)?.single("SmoothImage")?;
    let smoothed = if by_median {
        filters::median(&image, sigma.map(|radius| radius.max(0.0) as usize))
    } else {
        let axes = dimensions(&image.grid);
        if let Some(sigma) = sigma[..axes].iter().find(|sigma| **sigma <= 0.0) {
            return Err(Refusal::new(format!("SIGMA {sigma}"), "expected a positive number").into());
        }
        let of_axis = |axis: usize| sigma[axis] * if in_mm { 1.0 } else { image.grid.spacing[axis] };
        let sigma = std::array::from_fn(of_axis);
        recursive_gaussian::smooth(&image, sigma).map_err(|error| Refusal::new(input.display(), error))?
    };
    Image::from(smoothed).write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}
