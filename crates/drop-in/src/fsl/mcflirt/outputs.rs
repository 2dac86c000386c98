//! Output files of `mcflirt`, with MCFLIRT's names and in FSL's coordinates.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::outputs::write_file;
use antsreg_core::io::{Error, ErrorKind, fsl};
use antsreg_core::{AffineTransform, Grid};
use antsreg_study::motion::{Found, Names, ReferenceVolume, rms_deviation};
use nalgebra::{Point3, Rotation3};

use super::request::{Asked, Request};
use crate::fsl::names;

/// Returns the names of the output images and matrices. In names of images, the suffix stands before the extension. In
/// other names, the suffix stands after the name given on the command line, including its extension.
///
/// # Errors
/// `FSLOUTPUTTYPE` names a format that is not supported.
pub fn names(request: &Request) -> Result<Names, Refusal> {
    let Request { output, asked, .. } = request;
    let image = |wanted: bool, suffix: &str| {
        wanted.then(|| names::output(&format!("{}{suffix}", names::stem(output)))).transpose()
    };
    let mean = match request.reference {
        ReferenceVolume::Mean => image(true, "_mean_reg"),
        _ => image(asked.statistics, "_meanvol"),
    };
    Ok(Names {
        corrected: image(true, "")?,
        mean: mean?,
        variance: image(asked.statistics, "_variance")?,
        deviation: image(asked.statistics, "_sigma")?,
        matrices: asked.matrices.then(|| beside(request, ".mat")),
        ..Names::default()
    })
}

fn beside(request: &Request, suffix: &str) -> PathBuf {
    format!("{}{suffix}", request.output).into()
}

/// Writes the requested tables of motion.
///
/// # Errors
/// A matrix without an inverse; a file that cannot be written.
pub fn write_tables(request: &Request, found: &mut Found) -> Result<(), CliError> {
    let Asked { parameters, absolute, relative, .. } = request.asked;
    // The matrices of MCFLIRT map points of the volume to points of the reference.
    let to_reference: Option<Vec<AffineTransform>> =
        found.motion.transforms.iter().map(AffineTransform::inverse).collect();
    let singular = || Error { path: request.input.clone(), kind: ErrorKind::Singular };
    let to_reference = to_reference.ok_or_else(singular)?;
    let mut write = |suffix: &str, lines: Vec<String>| {
        let text = lines.join("\n") + "\n";
        found
            .outputs
            .write(&beside(request, suffix), |path: &Path| Ok::<_, CliError>(write_file(path, text.as_bytes())?))
    };
    if parameters {
        let lines = found
            .motion
            .transforms
            .iter()
            .map(|transform| line(transform, &found.motion.grids, &found.motion.centre));
        write(".par", lines.collect::<Option<_>>().ok_or_else(singular)?)?;
    }
    let identity = AffineTransform::identity();
    let from = |before: &AffineTransform, after: &AffineTransform| rms_deviation(before, after, &found.motion.centre);
    let pairs = to_reference.windows(2).map(|pair| from(&pair[0], &pair[1]));
    let tables = [
        (absolute, "abs", to_reference.iter().map(|one| from(&identity, one)).collect::<Vec<f64>>()),
        (relative, "rel", pairs.collect()),
    ];
    for (_, name, values) in tables.into_iter().filter(|(asked, ..)| *asked) {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        write(&format!("_{name}.rms"), values.iter().map(|value| format!("{value:.6}")).collect())?;
        write(&format!("_{name}_mean.rms"), vec![format!("{mean:.6}")])?;
    }
    Ok(())
}

/// A row of the table of parameters: rotations about x, y and z (radians), then translations of the centre of mass
/// (mm), of the map from the volume to the reference in FSL's coordinates. The rotation is Rx·Ry·Rz, and FSL counts
/// angles clockwise: Rz = (cos, sin; −sin, cos).
fn line(transform: &AffineTransform, [reference, volume]: &[Grid; 2], centre: &Point3<f64>) -> Option<String> {
    let matrix = AffineTransform::from_homogeneous(&fsl::from_world(transform, reference, volume)?);
    let centre = fsl::scaled(centre, reference)?;
    let shift = matrix.apply(&centre) - centre;
    // The table of motion parameters has no columns for scales and shears. The angles of a matrix with scales or shears
    // are those of the nearest rotation.
    let rotation = Rotation3::from_matrix(&matrix.matrix.transpose());
    let (x, y, z) = rotation.euler_angles();
    let cells = [x, y, z, shift.x, shift.y, shift.z].map(|value| format!("{value:.8}"));
    Some(cells.join("  ") + "  ")
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Matrix4, Vector3};

    use super::*;

    #[test]
    fn rows_are_angles_and_shifts_in_fsl_s_coordinates() {
        // The motion of the tested volume, as a matrix in FSL's coordinates: a rotation by 0.1 rad about an axis
        // parallel to z through the point `world`, followed by the translation `shift`.
        let grid = Grid::axis_aligned([20, 30, 10], [2.0, 2.0, 3.0]);
        let (sine, cosine) = 0.1f64.sin_cos();
        let turn = Matrix3::new(cosine, sine, 0.0, -sine, cosine, 0.0, 0.0, 0.0, 1.0);
        let world = Point3::new(15.0, 40.0, 9.0);
        let centre = fsl::scaled(&world, &grid).unwrap();
        let shift = Vector3::new(0.5, -1.0, 2.0);
        let mut matrix: Matrix4<f64> = turn.to_homogeneous();
        matrix.fixed_view_mut::<3, 1>(0, 3).copy_from(&(centre.coords + shift - turn * centre.coords));
        let transform = fsl::to_world(&matrix, &grid, &grid).unwrap();
        let row = line(&transform, &[grid.clone(), grid], &world).unwrap();
        let found: Vec<f64> = row.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
        for (found, expected) in found.iter().zip([0.0, 0.0, 0.1, 0.5, -1.0, 2.0]) {
            assert!((found - expected).abs() < 1e-7, "{row}");
        }
    }
}
