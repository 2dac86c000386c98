//! The command `ConvertTransformFile`: an affine map in another format, or its matrix as text.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::AffineTransform;
use antsreg_core::io::{itk, outputs};
use antsreg_register::Description;
use nalgebra::{Matrix4, Point3};

use super::numbers::general;
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
ConvertTransformFile DIMENSION INPUT OUTPUT [-m | --matrix] [--hm | --homogeneousMatrix] [--RAS] [--convertToAffineType]

Served by antsreg-gpu, for affine maps. OUTPUT is a transform (.mat, .txt, .tfm), or the text of the matrix or of the homogeneous matrix,
in LPS or, with --RAS, in RAS. All maps are written as affine transforms.
";

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// A transform of ITK, about the centre of the input or about the origin.
    Transform { about_origin: bool },
    /// The matrix as text, with the translation if `homogeneous`.
    Matrix { homogeneous: bool, ras: bool },
}

/// Runs `ConvertTransformFile`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, output, rest @ ..]) = positional(&call.arguments, 3..=5, USAGE)? else {
        return Ok(());
    };
    let slices = super::dimension(dimension)? == 2;
    let (input, output) = (Path::new(input), Path::new(output));
    let written = parse(rest)?;
    if let Written::Transform { .. } = written {
        super::check_affine_name(output)?;
    }
    outputs::check_in_place([output])?;
    let (affine, centre) = itk::read_centred_affine(input)?;
    if itk::is_affine_of_slices(input)? != slices {
        let why = format!("is no transform of {} dimensions", if slices { 2 } else { 3 });
        return Err(Refusal::new(input.display(), why).into());
    }
    match written {
        Written::Matrix { homogeneous, ras } => {
            outputs::write_file(output, text(&affine, if slices { 2 } else { 3 }, homogeneous, ras).as_bytes())?;
        }
        Written::Transform { about_origin } => {
            let centre = if about_origin { Point3::origin() } else { centre };
            match slices {
                true => itk::write_affine_of_slices(output, &affine, centre)?,
                false => itk::write_affine(output, &affine, centre)?,
            }
        }
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn parse(words: &[String]) -> Result<Written, Refusal> {
    let (mut matrix, mut homogeneous, mut affine, mut ras) = (false, false, false, false);
    for word in words {
        let asked = match word.as_str() {
            "-m" | "--matrix" => &mut matrix,
            "--hm" | "--homogeneousMatrix" => &mut homogeneous,
            "--convertToAffineType" => &mut affine,
            "--RAS" | "--ras" => &mut ras,
            _ => return Err(Refusal::new(word, "ConvertTransformFile has no such option")),
        };
        *asked = true;
    }
    match (matrix, homogeneous, affine, ras) {
        (true, false, false, ras) => Ok(Written::Matrix { homogeneous: false, ras }),
        (false, true, false, ras) => Ok(Written::Matrix { homogeneous: true, ras }),
        (false, false, about_origin, false) => Ok(Written::Transform { about_origin }),
        (false, false, _, true) => Err(Refusal::new("--RAS", "needs --matrix or --homogeneousMatrix")),
        _ => Err(Refusal::new(
            words.join(" "),
            "expected only one of --matrix, --homogeneousMatrix, --convertToAffineType",
        )),
    }
}

/// The rows of the matrix, in LPS or RAS mm, with the translation as last column if `homogeneous`.
fn text(affine: &AffineTransform, axes: usize, homogeneous: bool, ras: bool) -> String {
    let turn = Matrix4::from_diagonal(&[-1.0, -1.0, 1.0, 1.0].into());
    let whole = affine.to_homogeneous();
    let whole = if ras { whole } else { turn * whole * turn };
    let kept: Vec<usize> = (0..axes).chain(homogeneous.then_some(3)).collect();
    let row =
        |row: &usize| kept.iter().map(|column| general(whole[(*row, *column)])).collect::<Vec<_>>().join(" ") + "\n";
    kept.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Vector3};

    use super::*;

    #[test]
    fn matrices_are_written_in_lps_or_ras() {
        let affine = AffineTransform {
            matrix: Matrix3::new(1.0, 0.5, 0.25, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0),
            translation: Vector3::new(1.0, -2.0, 3.0),
        };
        assert_eq!(text(&affine, 3, false, true), "1 0.5 0.25\n0 1 0\n0 0 2\n");
        assert_eq!(text(&affine, 3, true, false), "1 0.5 -0.25 -1\n0 1 0 2\n0 0 2 3\n0 0 0 1\n");
        assert_eq!(text(&affine, 2, true, true), "1 0.5 1\n0 1 -2\n0 0 1\n");
    }

    #[test]
    fn one_output_is_asked_for() {
        let read = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read(""), Ok(Written::Transform { about_origin: false }));
        assert_eq!(read("--hm --ras"), Ok(Written::Matrix { homogeneous: true, ras: true }));
        for line in ["--RAS", "-m --hm", "--nosuch"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
