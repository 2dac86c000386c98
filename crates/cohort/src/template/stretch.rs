//! The mean stretch of affine maps from a template to its subjects. A stretch is the symmetric matrix that remains of
//! an affine map without its rotation and its shift.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, SymmetricEigen};

/// Reason why the mean stretch matrix of affine maps cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StretchError {
    /// The list of affine maps is empty.
    #[error("there is no transform to average")]
    Nothing,
    /// The affine map with this number, counted from 0, is singular.
    #[error("affine transform {0} (counted from 0) is singular")]
    Singular(usize),
}

/// Returns the mean stretch of affine maps from a template to its subjects, as an affine map that keeps `centre` fixed.
///
/// The linear part M of each map is a symmetric stretch matrix U followed by a rotation R (polar decomposition M = R·U,
/// U = √(MᵀM)). Rotations and shifts only say how a subject lay in the scanner, so they are left out. The matrices U
/// are averaged by their logarithms, so that a factor 2 and a factor ½ cancel. ANTs averages the transforms' parameters
/// without rotations for the same purpose.
pub fn mean_stretch(
    template_to_subjects: &[AffineTransform],
    centre: Point3<f64>,
) -> Result<AffineTransform, StretchError> {
    if template_to_subjects.is_empty() {
        return Err(StretchError::Nothing);
    }
    let mut logarithm = Matrix3::zeros();
    for (n, affine) in template_to_subjects.iter().enumerate() {
        let squared = affine.matrix.transpose() * affine.matrix;
        // The logarithm of the stretch matrix U is half the logarithm of U². An eigenvalue of U² below 1e-12 does not
        // occur in registrations, so a map with such an eigenvalue counts as singular.
        let log = of_eigenvalues(squared, |value| if value > 1e-12 { 0.5 * value.ln() } else { f64::NAN });
        if log.iter().any(|value| value.is_nan()) {
            return Err(StretchError::Singular(n));
        }
        logarithm += log;
    }
    let matrix = of_eigenvalues(logarithm / template_to_subjects.len() as f64, f64::exp);
    Ok(AffineTransform { matrix, translation: centre.coords - matrix * centre.coords })
}

/// The symmetric matrix that has the eigenvectors of `symmetric`, and `function` applied to the eigenvalues.
fn of_eigenvalues(symmetric: Matrix3<f64>, function: impl Fn(f64) -> f64) -> Matrix3<f64> {
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(symmetric);
    eigenvectors * Matrix3::from_diagonal(&eigenvalues.map(function)) * eigenvectors.transpose()
}

#[cfg(test)]
mod tests {
    use nalgebra::{Rotation3, Vector3};

    use super::*;

    fn affine(turn: [f64; 3], stretch: Matrix3<f64>, shift: f64) -> AffineTransform {
        let [x, y, z] = turn;
        let matrix = Rotation3::from_euler_angles(x, y, z).into_inner() * stretch;
        AffineTransform { matrix, translation: Vector3::repeat(shift) }
    }

    #[test]
    fn turns_and_shifts_do_not_count() {
        let stretch = Matrix3::new(1.1, 0.05, 0.0, 0.05, 0.9, -0.02, 0.0, -0.02, 1.2);
        let maps = [affine([0.0; 3], stretch, 0.0), affine([0.5, -0.3, 1.0], stretch, 80.0)];
        let centre = Point3::new(10.0, -4.0, 7.0);
        let mean = mean_stretch(&maps, centre).expect("a mean");
        // Both test maps have the same stretch matrix. The computed mean may differ from this matrix by 1e-12, because
        // eigenvectors of matrices near the identity are rounded to double precision.
        assert!((mean.matrix - stretch).amax() < 1e-12, "{mean:?}");
        assert!((mean.apply(&centre) - centre).norm() < 1e-12);
    }

    #[test]
    fn growing_and_shrinking_cancel() {
        let by = |factor: f64| affine([0.2, 0.1, -0.4], Matrix3::from_diagonal_element(factor), 5.0);
        let mean = mean_stretch(&[by(2.0), by(0.5)], Point3::origin()).expect("a mean");
        assert!((mean.matrix - Matrix3::identity()).amax() < 1e-12);
        let mean = mean_stretch(&[by(1.2), by(1.2), by(0.9)], Point3::origin()).expect("a mean");
        let expected = (1.2f64 * 1.2 * 0.9).cbrt();
        assert!((mean.matrix - Matrix3::from_diagonal_element(expected)).amax() < 1e-12);
    }

    #[test]
    fn what_has_no_mean_is_refused() {
        let flat = affine([0.0; 3], Matrix3::from_diagonal(&Vector3::new(1.0, 0.0, 1.0)), 0.0);
        let whole = AffineTransform::identity();
        assert_eq!(mean_stretch(&[whole, flat], Point3::origin()), Err(StretchError::Singular(1)));
        assert_eq!(mean_stretch(&[], Point3::origin()), Err(StretchError::Nothing));
    }
}
