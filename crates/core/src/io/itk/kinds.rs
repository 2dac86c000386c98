//! The kinds of ITK transforms that are affine maps, and the meaning of their parameters. All kinds except
//! translations map y = A(x − c) + c + t in LPS mm, with the centre c in the fixed parameters.

use nalgebra::{Matrix3, Point3, Quaternion, Rotation3, UnitQuaternion, Vector3};

use super::super::ErrorKind;
use super::planar;
use super::stored::{Stored, expect_count};
use crate::AffineTransform;

/// Description of the kinds of ITK transforms that can be read, for error messages.
const EXPECTED: &str = "an affine, rigid, similarity or translation transform of two or three dimensions";

/// Ending of the names of ITK's two-dimensional transforms.
pub(super) const OF_SLICES: &str = "_2_2";

/// The affine map in RAS mm that a transform from a file describes.
pub(super) fn to_world(stored: &Stored) -> Result<AffineTransform, ErrorKind> {
    let unknown = || ErrorKind::TransformType { expected: EXPECTED, found: stored.name.clone() };
    let in_plane = stored.name.ends_with(OF_SLICES);
    let kind = stored.name.strip_suffix(if in_plane { OF_SLICES } else { "_3_3" }).ok_or_else(unknown)?;
    let kind = kind.strip_suffix("_double").or_else(|| kind.strip_suffix("_float")).ok_or_else(unknown)?;
    check_finite("parameters", &stored.parameters)?;
    check_finite("fixed parameters", &stored.fixed_parameters)?;
    if in_plane {
        let map = flip(&planar::to_lps(kind, stored)?.ok_or_else(unknown)?);
        check_finite("matrix", map.to_homogeneous().as_slice())?;
        return Ok(map);
    }
    let p = stored.parameters.as_slice();
    let count = |expected| expect_count("parameters", expected, p);
    let (matrix, translation) = match kind {
        "AffineTransform" | "MatrixOffsetTransformBase" | "Rigid3DTransform" => {
            count(12)?;
            (Matrix3::from_row_slice(&p[..9]), Vector3::from_column_slice(&p[9..]))
        }
        "Euler3DTransform" => {
            count(6)?;
            let order_zyx = stored.fixed_parameters.get(3).is_some_and(|&flag| flag != 0.0);
            (euler([p[0], p[1], p[2]], order_zyx), Vector3::from_column_slice(&p[3..]))
        }
        "VersorRigid3DTransform" => {
            count(6)?;
            (versor(p[0], p[1], p[2]), Vector3::from_column_slice(&p[3..]))
        }
        "Similarity3DTransform" => {
            count(7)?;
            (versor(p[0], p[1], p[2]) * p[6], Vector3::from_column_slice(&p[3..6]))
        }
        "QuaternionRigidTransform" => {
            count(7)?;
            let rotation = UnitQuaternion::from_quaternion(Quaternion::new(p[3], p[0], p[1], p[2]));
            (rotation.to_rotation_matrix().into_inner(), Vector3::from_column_slice(&p[4..]))
        }
        "TranslationTransform" => {
            count(3)?;
            (Matrix3::identity(), Vector3::from_column_slice(p))
        }
        "IdentityTransform" => (Matrix3::identity(), Vector3::zeros()),
        _ => return Err(unknown()),
    };
    let centre = match (kind, stored.fixed_parameters.as_slice()) {
        ("TranslationTransform" | "IdentityTransform", _) => Vector3::zeros(),
        // The fourth fixed parameter of this transform of ITK tells in which order the rotations about x, y and z are
        // applied.
        ("Euler3DTransform", [x, y, z, _]) => Vector3::new(*x, *y, *z),
        (_, centre) => {
            expect_count("fixed parameters", 3, centre)?;
            Vector3::from_column_slice(centre)
        }
    };
    let world = flip(&AffineTransform { matrix, translation: translation + centre - matrix * centre });
    // The matrix can have NaN or infinite numbers although all parameters are finite: a quaternion may have zero
    // length, or products may overflow.
    check_finite("matrix", world.to_homogeneous().as_slice())?;
    Ok(world)
}

/// The centre of rotation of a transform, RAS mm; the origin if the transform has none.
pub(super) fn centre_of(stored: &Stored) -> Point3<f64> {
    match stored.fixed_parameters.as_slice() {
        [x, y] => Point3::new(-x, -y, 0.0),
        [x, y, z, ..] => Point3::new(-x, -y, *z),
        _ => Point3::origin(),
    }
}

/// Describes a map of RAS mm as ITK's affine transform about `centre` (RAS mm).
pub(super) fn from_world(affine: &AffineTransform, centre: Point3<f64>) -> Stored {
    let AffineTransform { matrix, translation } = flip(affine);
    let centre = Vector3::new(-centre.x, -centre.y, centre.z);
    let translation = matrix * centre + translation - centre;
    Stored {
        name: "AffineTransform_double_3_3".into(),
        parameters: matrix.transpose().iter().chain(translation.iter()).copied().collect(),
        fixed_parameters: centre.iter().copied().collect(),
    }
}

/// Describes a map of RAS mm as ITK's two-dimensional affine transform about `centre` (RAS mm); `None` if the map
/// moves points out of the plane.
pub(super) fn from_world_of_slices(affine: &AffineTransform, centre: Point3<f64>) -> Option<Stored> {
    planar::from_lps(&flip(affine), &Point3::new(-centre.x, -centre.y, centre.z))
}

/// Converts a map from LPS to RAS coordinates, or from RAS to LPS.
fn flip(map: &AffineTransform) -> AffineTransform {
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    AffineTransform { matrix: flip * map.matrix * flip, translation: flip * map.translation }
}

/// Rotation by angles about x, y and z (radians): Rz·Rx·Ry, or Rz·Ry·Rx with `order_zyx`.
fn euler(angles: [f64; 3], order_zyx: bool) -> Matrix3<f64> {
    let [x, y, z] = [
        Rotation3::from_axis_angle(&Vector3::x_axis(), angles[0]),
        Rotation3::from_axis_angle(&Vector3::y_axis(), angles[1]),
        Rotation3::from_axis_angle(&Vector3::z_axis(), angles[2]),
    ];
    (if order_zyx { z * y * x } else { z * x * y }).into_inner()
}

/// The rotation of a unit quaternion with this vector part. The scalar part is positive and follows from the unit
/// length.
fn versor(x: f64, y: f64, z: f64) -> Matrix3<f64> {
    let w = (1.0 - (x * x + y * y + z * z)).max(0.0).sqrt();
    UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_rotation_matrix().into_inner()
}

pub(super) fn check_finite(what: &'static str, numbers: &[f64]) -> Result<(), ErrorKind> {
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(ErrorKind::NotFiniteNumber { what, index, value: numbers[index] }),
        None => Ok(()),
    }
}
