//! The command `AverageImages`: the mean of images.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{Planes, Stored};
use antsreg_core::{TransformChain, Volume};
use antsreg_images::{filters, intensity};
use antsreg_kernels::apply::{self, Interpolation};
use antsreg_register::Description;

use super::files::{self, Image};
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
AverageImages DIMENSION OUTPUT NORMALISE IMAGE …

Served by antsreg-gpu. NORMALISE: 0 no, 1 images are divided by their means and the mean is sharpened, 2 without
sharpening. Images are resampled on the grid of the largest. Images of vectors must have one grid.
";

/// Runs `AverageImages`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimensions, output, normalise, paths @ ..]) = positional(&call.arguments, 4..=usize::MAX, USAGE)?
    else {
        return Ok(());
    };
    let dimensions = files::dimensions(dimensions)?;
    let output = Path::new(output);
    let normalise = match normalise.as_str() {
        "0" => false,
        "1" | "2" => true,
        other => return Err(Refusal::new(format!("NORMALISE {other}"), "expected 0, 1 or 2").into()),
    };
    let sharpen = call.arguments[2] == "1";
    files::check_output(output)?;
    let mut sum = Image::read(Path::new(largest(paths)?), dimensions)?;
    sum.voxels.fill(0.0);
    let scalar = sum.planes != Planes::Vectors;
    for path in paths.iter().map(Path::new) {
        let mut image = Image::read(path, dimensions)?;
        if scalar && image.count() == 1 && sum.count() == 1 && image.grid != sum.grid {
            let volume = Volume { grid: image.grid, voxels: image.voxels };
            image = apply::resample(&volume, &sum.grid, &TransformChain::new(), Interpolation::Linear, 0.0).into();
        }
        sum.check_shape(path, &image)?;
        let mean = if normalise && scalar { intensity::mean(image.voxels.iter().copied()) } else { 1.0 };
        let mean = if mean > 0.0 { mean } else { 1.0 };
        let count = paths.len() as f32;
        // Vectors that are not finite are left out.
        let voxels = sum.voxels.iter_mut().zip(&image.voxels).filter(|(_, value)| scalar || value.is_finite());
        voxels.for_each(|(sum, value)| *sum += value / mean / count);
    }
    if sharpen && scalar && sum.count() == 1 {
        sum = filters::sharpened(&sum.single("AverageImages")?, true).into();
    }
    sum.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// The last image that has more voxels along an axis than all images before.
fn largest(paths: &[String]) -> Result<&String, CliError> {
    let (mut most, mut largest) = ([0; 3], &paths[0]);
    for path in paths {
        let shape = antsreg_core::io::nifti::GridRule::Itk.inspect(Path::new(path))?.grid.shape;
        for axis in 0..3 {
            if shape[axis] > most[axis] {
                (most[axis], largest) = (shape[axis], path);
            }
        }
    }
    Ok(largest)
}
