//! The command `CreateJacobianDeterminantImage`: computes the Jacobian determinants of a displacement field.

use std::path::Path;

use antsreg_console::CliError;
use antsreg_core::io::nifti::{GridRule, Planes, PlanesFile, Stored};
use antsreg_core::io::{itk, outputs};
use antsreg_kernels::apply;
use antsreg_register::Description;

use super::words::{positional, switch};
use crate::call::Call;

const USAGE: &str = "\
CreateJacobianDeterminantImage DIMENSION FIELD OUTPUT [LOGARITHM=0] [GEOMETRIC=0]

Served by antsreg-gpu. Determinants are computed from differences between voxels; GEOMETRIC has no effect.
";

/// Smallest Jacobian determinant whose logarithm is taken. Smaller determinants, such as those of folds, are replaced
/// by this value.
const LEAST: f32 = 0.001;

/// Runs `CreateJacobianDeterminantImage`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, field, output, rest @ ..]) = positional(&call.arguments, 3..=5, USAGE)? else {
        return Ok(());
    };
    super::dimension(dimension)?;
    let logarithm = rest.first().map_or(Ok(false), |text| switch("LOGARITHM", text))?;
    let geometric = rest.get(1).map_or(Ok(false), |text| switch("GEOMETRIC", text))?;
    let (field, output) = (Path::new(field), Path::new(output));
    if !antsreg_study::transforms::is_image_output(output) {
        return Err(super::refused_name(output.display()).into());
    }
    outputs::check_in_place([output])?;
    let mut determinants = apply::jacobian_of_fourth_order(&itk::read_warp_by(GridRule::Itk, field)?);
    if logarithm {
        determinants.voxels.iter_mut().for_each(|value| *value = value.max(LEAST).ln());
    }
    let grid = determinants.grid.clone();
    let file = PlanesFile { grid: &grid, count: 1, planes: Planes::One, stored: Stored::Float64 };
    file.write(output, |_| Ok::<_, CliError>(determinants.clone()))?;
    let replaced = geometric.then(|| {
        "geometric Jacobian determinants are replaced by determinants of finite differences between voxels".to_owned()
    });
    call.tell(&Description::Cpu, replaced.as_slice());
    Ok(())
}
