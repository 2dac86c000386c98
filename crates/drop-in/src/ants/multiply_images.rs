//! The command `MultiplyImages`: the product of two images, or of an image and a number.

use std::path::Path;

use antsreg_console::CliError;
use antsreg_core::io::nifti::Stored;
use antsreg_images::arithmetic::Arithmetic;
use antsreg_register::Description;

use super::files::{self, Image};
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
MultiplyImages DIMENSION IMAGE IMAGE|NUMBER OUTPUT

Served by antsreg-gpu, for images of numbers and of vectors.
";

/// Runs `MultiplyImages`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimensions, first, second, output, ..]) = positional(&call.arguments, 4..=5, USAGE)? else {
        return Ok(());
    };
    let dimensions = files::dimensions(dimensions)?;
    let (output, second_path) = (Path::new(output), Path::new(second));
    files::check_output(output)?;
    // As in ANTs, what is no image is a number.
    let factor = if second_path.exists() { None } else { second.parse::<f32>().ok() };
    let mut image = Image::read(Path::new(first), dimensions)?;
    match factor {
        Some(factor) => Arithmetic::Multiply.apply(&mut image.voxels, |_| factor),
        None => {
            let other = Image::read(second_path, dimensions)?;
            image.check_shape(second_path, &other)?;
            Arithmetic::Multiply.apply(&mut image.voxels, |voxel| other.voxels[voxel]);
        }
    }
    image.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}
