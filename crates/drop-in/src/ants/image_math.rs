//! The command `ImageMath`, operation by operation.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::intensity::quantiles;
use antsreg_core::io::nifti::{self, GridRule};
use antsreg_core::io::outputs;
use antsreg_register::Description;

use super::words::positional;
use crate::call::Call;
use crate::served::{self, Operation};

/// The operations that this program serves.
pub const OPERATIONS: &[Operation] =
    &[Operation { name: "TruncateImageIntensity", usage: "INPUT [LOW=0.025] [HIGH=0.975] [BINS=64]", run: truncate }];

/// Runs `ImageMath`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, _, operation, ..]) = positional(&call.arguments, 3..=usize::MAX, &usage())? else {
        return Ok(());
    };
    super::dimension(dimension)?;
    (served::operation(OPERATIONS, operation)?.run)(call)
}

fn usage() -> String {
    let line = |operation: &Operation| format!("  {} {}\n", operation.name, operation.usage);
    let lines: String = OPERATIONS.iter().map(line).collect();
    format!("ImageMath DIMENSION OUTPUT OPERATION ARGUMENTS\n\nServed by antsreg-gpu, these operations:\n{lines}")
}

/// Clips intensities to two quantiles, which are exact.
fn truncate(call: &Call) -> Result<(), CliError> {
    let [_, output, _, rest @ ..] = call.arguments.as_slice() else { return Ok(()) };
    let output = Path::new(output);
    let (input, numbers) = match rest {
        [input, numbers @ ..] if numbers.len() <= 3 => (Path::new(input), numbers),
        [_, _, _, _, mask, ..] => return Err(Refusal::not_served(mask, "leave the mask out").into()),
        [..] => return Err(Refusal::new("INPUT", "is missing; expected an image").into()),
    };
    let number = |place: usize, default: f64| match numbers.get(place) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| Refusal::new(text, "expected a number")),
    };
    let (low, high) = (number(0, 0.025)?, number(1, 0.975)?);
    if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) || low >= high {
        return Err(Refusal::new(
            format!("{low} {high}"),
            "expected two quantiles from 0 to 1, the lower quantile first",
        )
        .into());
    }
    number(2, 64.0)?;
    if !antsreg_study::transforms::is_nifti(output) {
        return Err(Refusal::not_served(output.display(), "use a name that ends in .nii.gz or .nii").into());
    }
    outputs::check_in_place([output])?;
    let mut image = GridRule::Itk.read_volume(input)?;
    if let Some((darkest, brightest)) = quantiles(&image.voxels, low, high) {
        image.voxels.iter_mut().for_each(|value| *value = value.clamp(darkest, brightest));
    }
    nifti::write_volume(output, &image)?;
    call.tell(&Description::Cpu, &["quantiles from ANTs' histogram are replaced by exact quantiles".into()]);
    Ok(())
}
