//! The commands `ResampleImage` and `ResampleImageBySpacing`: an image on a grid of another spacing or size.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::Stored;
use antsreg_core::{TransformChain, Volume};
use antsreg_images::recursive_gaussian::{self, Order};
use antsreg_images::{dimensions, grids};
use antsreg_kernels::apply::{self, Interpolation, SplineOrder, Window};
use antsreg_register::Description;

use super::files::{self, Image};
use super::numbers;
use super::words::{positional, switch};
use crate::call::Call;

const USAGE: &str = "\
ResampleImage DIMENSION INPUT OUTPUT MxNxO [SIZE=0] [INTERPOLATION] [PARAMETER] [TYPE=6]

Served by antsreg-gpu. MxNxO: spacings in mm, or numbers of voxels if SIZE is 1. INTERPOLATION: 0 linear, 1 nearest,
2 Gaussian (sigmas in mm), 3 windowed sinc (c, w, l, h), 4 B-spline (order). TYPE: 0 to 7.
";

const USAGE_BY_SPACING: &str = "\
ResampleImageBySpacing DIMENSION INPUT OUTPUT SPACING … [SMOOTH=1] [ADD=0] [NEAREST=0]

Served by antsreg-gpu. One spacing in mm for each axis; ADD voxels more along each axis.
";

/// Runs `ResampleImage`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, output, size, rest @ ..]) = positional(&call.arguments, 4..=8, USAGE)? else {
        return Ok(());
    };
    let axes = super::dimension(dimension)?;
    let (input, output) = (Path::new(input), Path::new(output));
    let numbers = numbers::of_axes(size, axes.into())?;
    if numbers[..axes.into()].iter().any(|number| *number <= 0.0) {
        return Err(Refusal::new(size, "expected positive numbers").into());
    }
    let by_size = rest.first().map_or(Ok(false), |text| switch("SIZE", text))?;
    let parameter = rest.get(2).map(String::as_str);
    let interpolation = rest.get(1).map_or("0", String::as_str);
    // ANTs reads the type from the same argument as the parameter of the interpolation, or from the next.
    let stored = stored(rest.get(3).map(String::as_str))?;
    let reading = |spacing: [f64; 3]| interpolation_of(interpolation, parameter, spacing, axes.into());
    reading([1.0; 3])?;
    files::check_output(output)?;
    let image = Image::read(input, axes)?.single("ResampleImage")?;
    let onto = match by_size {
        true => grids::with_shape(&image.grid, numbers.map(|number| number as usize)),
        false => grids::with_spacing(&image.grid, numbers, |length| (length + 0.5) as usize),
    };
    let onto = onto.map_err(|error| Refusal::new(size, error))?;
    let interpolation = reading(image.grid.spacing.into())?;
    let made = apply::resample(&image, &onto, &TransformChain::new(), interpolation, 0.0);
    Image::from(made).write(output, stored)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn interpolation_of(
    kind: &str,
    parameter: Option<&str>,
    spacing: [f64; 3],
    axes: usize,
) -> Result<Interpolation, Refusal> {
    match kind {
        "0" => Ok(Interpolation::Linear),
        "1" => Ok(Interpolation::Nearest),
        "2" => {
            let sigma_mm = parameter.map_or(Ok(spacing), |text| numbers::of_axes(text, axes))?;
            Ok(Interpolation::Gaussian { sigma_mm, alpha: 1.0 })
        }
        "3" => Ok(Interpolation::WindowedSinc(match parameter {
            Some("c") => Window::Cosine,
            Some("w") => Window::Welch,
            // ANTs takes the Lanczos window for Blackman's, too.
            Some("l" | "b") => Window::Lanczos,
            _ => Window::Hamming,
        })),
        "4" => {
            let order = parameter.and_then(|text| text.parse().ok()).and_then(SplineOrder::new);
            Ok(Interpolation::BSplineOfOrder(order.unwrap_or(SplineOrder::CUBIC)))
        }
        _ => Err(Refusal::new(format!("INTERPOLATION {kind}"), "expected 0 to 4")),
    }
}

fn stored(word: Option<&str>) -> Result<Stored, Refusal> {
    match word {
        Some("0") => Ok(Stored::Int8),
        Some("1") => Ok(Stored::Uint8),
        Some("2") => Ok(Stored::Int16),
        Some("4") => Ok(Stored::Int32),
        None | Some("6") => Ok(Stored::Float32),
        Some("7") => Ok(Stored::Float64),
        Some(other) => Err(Refusal::not_served(format!("TYPE {other}"), "use 0, 1, 2, 4, 6 or 7")),
    }
}

/// Runs `ResampleImageBySpacing`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run_by_spacing(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, output, rest @ ..]) = positional(&call.arguments, 4..=9, USAGE_BY_SPACING)? else {
        return Ok(());
    };
    let axes = usize::from(super::dimension(dimension)?);
    let (input, output) = (Path::new(input), Path::new(output));
    let mut spacings = Vec::new();
    for word in rest.iter().take(axes) {
        let spacing = word.parse().ok().filter(|spacing: &f64| spacing.is_finite() && *spacing > 0.0);
        spacings.push(spacing.ok_or_else(|| Refusal::new(word, "expected a spacing in mm"))?);
    }
    let number = |place: usize, default: i64| match rest.get(axes + place) {
        None => Ok(default),
        Some(word) => word.parse::<i64>().map_err(|_| Refusal::new(word, "expected a whole number")),
    };
    let (smooths, more, nearest) = (number(0, 1)? != 0, number(1, 0)?, number(2, 0)? == 1);
    files::check_output(output)?;
    let image = Image::read(input, axes as u8)?.single("ResampleImageBySpacing")?;
    let refuse = |error| Refusal::new(input.display(), error);
    let made = by_spacing(image, &spacings, smooths, more, nearest).map_err(refuse)?;
    Image::from(made).write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn by_spacing(
    image: Volume,
    spacings: &[f64],
    smooths: bool,
    more: i64,
    nearest: bool,
) -> Result<Volume, antsreg_images::Error> {
    let axes = dimensions(&image.grid);
    let [nx, ny, _] = image.grid.shape;
    let spacing = std::array::from_fn(|axis| spacings.get(axis).copied().unwrap_or(image.grid.spacing[axis]));
    let second: usize = [1, nx, nx * ny].iter().take(axes).sum();
    // Voxels outside get the value of the voxel with the indices 1, as in ANTs.
    let outside = image.voxels.get(second).copied().unwrap_or(0.0);
    let mut smoothed = image.clone();
    for axis in (0..axes).filter(|_| smooths) {
        // ANTs takes this number, in voxels, for mm.
        let sigma = (spacing[axis] / image.grid.spacing[axis] - 1.0) as f32;
        recursive_gaussian::filter(&mut smoothed, axis, Order::Smooth, sigma.into())?;
    }
    let onto = grids::with_spacing(&image.grid, spacing, |length| (length + more as f64).max(0.0) as usize)?;
    let interpolation = if nearest { Interpolation::Nearest } else { Interpolation::Linear };
    Ok(apply::resample(&smoothed, &onto, &TransformChain::new(), interpolation, outside))
}
