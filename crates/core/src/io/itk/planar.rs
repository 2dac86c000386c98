//! ITK's two-dimensional transforms. They act on the first two LPS coordinates, even if the third axis of the images is
//! oblique. The third coordinate is not changed.

use nalgebra::{Matrix2, Matrix3, Point3, Rotation2, Vector2};

use super::super::ErrorKind;
use super::stored::{Stored, expect_count};
use crate::AffineTransform;

/// Largest magnitude of a matrix element between the third coordinate and the first two that is taken for a rounding
/// error.
const ROUNDING: f64 = 1e-6;

/// The map in LPS mm that a two-dimensional transform from a file describes; `None` if this kind of transform is not
/// supported. The centre of rotation is included in the translation.
pub(super) fn to_lps(kind: &str, stored: &Stored) -> Result<Option<AffineTransform>, ErrorKind> {
    let p = stored.parameters.as_slice();
    let count = |expected| expect_count("parameters", expected, p);
    let turn = |angle: f64| Rotation2::new(angle).into_inner();
    let (matrix, translation) = match kind {
        "AffineTransform" | "MatrixOffsetTransformBase" => {
            count(6)?;
            (Matrix2::from_row_slice(&p[..4]), Vector2::from_column_slice(&p[4..]))
        }
        "Euler2DTransform" | "Rigid2DTransform" => {
            count(3)?;
            (turn(p[0]), Vector2::from_column_slice(&p[1..]))
        }
        "Similarity2DTransform" => {
            count(4)?;
            (turn(p[1]) * p[0], Vector2::from_column_slice(&p[2..]))
        }
        "TranslationTransform" => {
            count(2)?;
            return Ok(Some(in_space(&Matrix2::identity(), &Vector2::from_column_slice(p))));
        }
        "IdentityTransform" => return Ok(Some(AffineTransform::identity())),
        _ => return Ok(None),
    };
    expect_count("fixed parameters", 2, &stored.fixed_parameters)?;
    let centre = Vector2::from_column_slice(&stored.fixed_parameters);
    Ok(Some(in_space(&matrix, &(translation + centre - matrix * centre))))
}

/// Describes a map of LPS mm as ITK's two-dimensional affine transform about `centre`; `None` if the map mixes the
/// third coordinate with the others.
pub(super) fn from_lps(map: &AffineTransform, centre: &Point3<f64>) -> Option<Stored> {
    let m = &map.matrix;
    let tied = [m[(0, 2)], m[(1, 2)], m[(2, 0)], m[(2, 1)]];
    if tied.iter().any(|coefficient| coefficient.abs() > ROUNDING) {
        return None;
    }
    let matrix = m.fixed_view::<2, 2>(0, 0).into_owned();
    let centre = centre.coords.xy();
    let translation = matrix * centre + map.translation.xy() - centre;
    Some(Stored {
        name: "AffineTransform_double_2_2".into(),
        parameters: matrix.transpose().iter().chain(translation.iter()).copied().collect(),
        fixed_parameters: centre.iter().copied().collect(),
    })
}

fn in_space(matrix: &Matrix2<f64>, translation: &Vector2<f64>) -> AffineTransform {
    let mut linear = Matrix3::identity();
    linear.fixed_view_mut::<2, 2>(0, 0).copy_from(matrix);
    AffineTransform { matrix: linear, translation: translation.push(0.0) }
}
