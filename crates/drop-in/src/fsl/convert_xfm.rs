//! The command `convert_xfm`: inverts and combines FSL's matrices.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::{fsl, outputs};
use nalgebra::{Matrix3, Matrix4, Vector3};

use super::names::existing;
use crate::call::Call;

const USAGE: &str = "\
convert_xfm [-omat OUT] -inverse MATRIX
convert_xfm [-omat OUT] -concat B_TO_C A_TO_B
convert_xfm [-omat OUT] -fixscaleskew OTHER MATRIX

Served by antsreg-gpu. Without -omat the matrix is printed. -fixscaleskew gives MATRIX the scales and skews of OTHER.
";

/// Runs `convert_xfm`.
///
/// # Errors
/// An argument that is wrong or not supported; a matrix that cannot be read, inverted or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-help" || word == "-h") {
        return print(USAGE);
    }
    let (mut output, mut inverse, mut second, mut scales, mut input) = (None, false, None, None, None);
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().ok_or_else(|| Refusal::new(word, "expected the name of a file after this option"));
        match word.as_str() {
            "-omat" => output = Some(PathBuf::from(value()?)),
            "-concat" => second = Some(existing(word, value()?)?),
            "-fixscaleskew" => scales = Some(existing(word, value()?)?),
            "-inverse" => inverse = true,
            _ if word.starts_with('-') => return Err(Refusal::new(word, "convert_xfm has no such option").into()),
            _ if input.is_some() => {
                return Err(Refusal::new(word, "this argument is a second input; expected one input matrix").into());
            }
            _ => input = Some(existing("input", word)?),
        }
    }
    let Some(input) = input else {
        return Err(Refusal::new("input", "the input is missing; expected the file of a matrix").into());
    };
    if [inverse, second.is_some(), scales.is_some()].into_iter().filter(|asked| *asked).count() > 1 {
        let why = "only one of -inverse, -concat and -fixscaleskew can be given";
        return Err(Refusal::new("-inverse, -concat, -fixscaleskew", why).into());
    }
    outputs::check_in_place(&output)?;
    let singular = |path: &Path| Refusal::new(path.display(), "the matrix is singular: it has no inverse");
    let mut matrix = fsl::read_numbers(&input)?;
    if let Some(second) = second {
        matrix = fsl::read_numbers(&second)? * matrix;
    } else if let Some(other) = scales {
        matrix = with_scales(&matrix, &fsl::read_numbers(&other)?).ok_or_else(|| singular(&input))?;
    } else if inverse {
        matrix = fsl::inverse(&matrix).ok_or_else(|| singular(&input))?;
    }
    if let Some(number) = matrix.iter().find(|number| !number.is_finite()) {
        let why = format!("a number of the resulting matrix is {number}, expected finite numbers");
        return Err(Refusal::new(input.display(), why).into());
    }
    match output {
        Some(output) => Ok(fsl::write_numbers(&output, &matrix)?),
        None => print(&fsl::text(&matrix)),
    }
}

/// Combines the rotation and the translation of `matrix` with the scales and skews of `other`. A 3 × 3 matrix is the
/// product of a rotation and an upper triangular matrix, which holds the scales and skews. `None` if a matrix is
/// singular.
fn with_scales(matrix: &Matrix4<f64>, other: &Matrix4<f64>) -> Option<Matrix4<f64>> {
    let parts = |matrix: &Matrix4<f64>| {
        let (rotation, triangle) = matrix.fixed_view::<3, 3>(0, 0).into_owned().qr().unpack();
        // The decomposition is unique if all scales but the last are positive, and the rotation has the determinant 1.
        let mut signs = Vector3::from_fn(|n, _| triangle[(n, n)].signum());
        signs.z = signs.x * signs.y * rotation.determinant();
        let signs = Matrix3::from_diagonal(&signs);
        (triangle.determinant() != 0.0).then(|| (rotation * signs, signs * triangle))
    };
    let ((rotation, _), (_, triangle)) = (parts(matrix)?, parts(other)?);
    let mut whole = *matrix;
    whole.fixed_view_mut::<3, 3>(0, 0).copy_from(&(rotation * triangle));
    Some(whole)
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;

    use super::*;

    #[test]
    fn a_matrix_gets_the_scales_and_skews_of_another() {
        let rotation = |angle: f64| Rotation3::from_euler_angles(angle, 0.3, -2.0 * angle).into_inner();
        let triangle = |x: f64| Matrix3::new(x, 0.1, -0.2, 0.0, 1.2, 0.05, 0.0, 0.0, 0.9);
        let affine = |part: Matrix3<f64>| part.to_homogeneous().append_translation(&Vector3::new(1.0, 2.0, 3.0));
        let (one, other) = (affine(rotation(0.5) * triangle(1.1)), affine(rotation(-1.4) * triangle(0.7)));
        let found = with_scales(&one, &other).expect("both have inverses");
        assert!((found - affine(rotation(0.5) * triangle(0.7))).norm() < 1e-12, "{found}");
        assert!((with_scales(&one, &one).expect("it has an inverse") - one).norm() < 1e-12);
        assert_eq!(with_scales(&one, &Matrix4::zeros()), None);
    }
}
