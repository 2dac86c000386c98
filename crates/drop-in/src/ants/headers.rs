//! Commands that change the grid of an image: `CopyImageHeaderInformation`, `SetDirectionByMatrix` and
//! `ExtractRegionFromImageByMask`.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{GridRule, Stored};
use antsreg_images::{dimensions, grids};
use antsreg_register::Description;
use nalgebra::{Matrix3, Vector3};

use super::files::{self, Image};
use super::words::{positional, switch};
use crate::call::Call;

const USAGE: &str = "\
CopyImageHeaderInformation REFERENCE IMAGE OUTPUT [DIRECTION] [ORIGIN] [SPACING] [TENSORS=0]

Served by antsreg-gpu. What is 1 is copied from the reference.
";

/// Runs `CopyImageHeaderInformation`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn copy(call: &Call) -> Result<(), CliError> {
    let Some([reference, input, output, rest @ ..]) = positional(&call.arguments, 3..=8, USAGE)? else {
        return Ok(());
    };
    let output = Path::new(output);
    let asked = |place: usize, name: &str| rest.get(place).map_or(Ok(false), |text| switch(name, text));
    let (direction, origin, spacing) = (asked(0, "DIRECTION")?, asked(1, "ORIGIN")?, asked(2, "SPACING")?);
    files::check_output(output)?;
    let from = GridRule::Itk.inspect(Path::new(reference))?.grid;
    let mut image = Image::read(Path::new(input), 4)?;
    if direction {
        image.grid.direction = from.direction;
    }
    if origin {
        image.grid.origin = from.origin;
    }
    if spacing {
        image.grid.spacing = from.spacing;
    }
    image.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

const USAGE_DIRECTION: &str = "\
SetDirectionByMatrix INPUT OUTPUT D00 D01 D02 D10 … D22

Served by antsreg-gpu. Directions of the axes in LPS, one row after the other: four numbers for slices, else nine.
";

/// Runs `SetDirectionByMatrix`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn set_direction(call: &Call) -> Result<(), CliError> {
    let Some([input, output, rest @ ..]) = positional(&call.arguments, 6..=11, USAGE_DIRECTION)? else {
        return Ok(());
    };
    let output = Path::new(output);
    let number = |word: &String| word.parse::<f64>().map_err(|_| Refusal::new(word, "expected a number"));
    let numbers = rest.iter().map(number).collect::<Result<Vec<f64>, Refusal>>()?;
    files::check_output(output)?;
    let mut image = Image::read(Path::new(input), 4)?;
    let axes = dimensions(&image.grid);
    if numbers.len() != axes * axes {
        let why = format!("expected {} numbers, found {}", axes * axes, numbers.len());
        return Err(Refusal::new("direction", why).into());
    }
    let mut direction = image.grid.direction;
    let signs = Vector3::new(-1.0, -1.0, 1.0);
    for (row, column) in (0..axes).flat_map(|row| (0..axes).map(move |column| (row, column))) {
        direction[(row, column)] = signs[row] * numbers[row * axes + column];
    }
    if (direction.transpose() * direction - Matrix3::identity()).amax() > 1e-3 {
        return Err(Refusal::new("direction", "the axes are not at right angles or not of length 1").into());
    }
    image.grid.direction = direction;
    image.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

const USAGE_REGION: &str = "\
ExtractRegionFromImageByMask DIMENSION INPUT OUTPUT MASK [LABEL=1] [MARGIN=0]

Served by antsreg-gpu. The output is the box around the voxels of LABEL, with MARGIN voxels more on all sides.
";

/// Runs `ExtractRegionFromImageByMask`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn extract_region(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, output, mask, rest @ ..]) = positional(&call.arguments, 4..=6, USAGE_REGION)? else {
        return Ok(());
    };
    let axes = super::dimension(dimension)?;
    let (output, mask) = (Path::new(output), Path::new(mask));
    let number = |place: usize, default: usize| match rest.get(place) {
        None => Ok(default),
        Some(word) => word.parse::<usize>().map_err(|_| Refusal::new(word, "expected a whole number from 0")),
    };
    let (label, margin) = (number(0, 1)?, number(1, 0)?);
    files::check_output(output)?;
    let image = Image::read(Path::new(input), axes)?;
    let labels = Image::read(mask, axes)?;
    image.check_shape(mask, &labels)?;
    let Some([first, last]) = image.grid.bounds_of(&labels.voxels, |value| *value as usize == label && *value >= 0.0)
    else {
        return Err(Refusal::new(mask.display(), format!("has no voxel with the label {label}")).into());
    };
    let range =
        |axis: usize| first[axis].saturating_sub(margin)..(last[axis] + margin + 1).min(image.grid.shape[axis]);
    let ranges = [range(0), range(1), range(2)];
    let made = grids::region(&image.single("ExtractRegionFromImageByMask")?, ranges);
    Image::from(made).write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}
