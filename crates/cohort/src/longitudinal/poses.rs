//! Means of rigid maps and of maps with one scale, and the poses of time points in a space that favours none.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// Largest number of steps towards the mean of rotations. The distance to the mean falls at least by half in each step
/// for rotations within 90° of it, and much faster for near ones.
const STEPS: usize = 60;
/// The mean of rotations is found when a step is shorter than this, radians. A shorter step is rounding.
const FOUND: f64 = 1e-14;

/// Why poses cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoseError {
    /// There are fewer than two time points, or the numbers of maps and centres differ.
    #[error("expected maps between at least two time points, one map for each pair")]
    Few,
    /// A map is singular or mirrors.
    #[error("a transform between time points is singular or mirrors left and right")]
    NotAPose,
}

/// A map x ↦ s·R·(x − c) + c + t about a centre c.
struct Pose {
    rotation: Rotation3<f64>,
    log_scale: f64,
}

impl Pose {
    fn of(map: &AffineTransform) -> Result<Pose, PoseError> {
        let determinant = map.matrix.determinant();
        if !(determinant > 0.0 && determinant.is_finite()) {
            return Err(PoseError::NotAPose);
        }
        let scale = determinant.cbrt();
        let rotation = Rotation3::from_matrix_eps(&(map.matrix / scale), 1e-15, 100, Rotation3::identity());
        Ok(Pose { rotation, log_scale: scale.ln() })
    }

    /// The map with these parts that takes `centre` to `image`.
    fn about(&self, centre: Point3<f64>, image: Point3<f64>) -> AffineTransform {
        let matrix: Matrix3<f64> = self.rotation.into_inner() * self.log_scale.exp();
        AffineTransform { matrix, translation: image.coords - matrix * centre.coords }
    }
}

/// The mean of rigid maps, or of maps with one scale: the rotation with the least sum of squared angles to the rotations
/// (Karcher mean; Moakher 2002, SIAM J. Matrix Anal. Appl. 24:1), the geometric mean of the scales, and the mean of the
/// points to which the maps take `centre`.
///
/// # Errors
/// No map; a map that is singular or mirrors.
pub fn mean(maps: &[AffineTransform], centre: Point3<f64>) -> Result<AffineTransform, PoseError> {
    let poses = maps.iter().map(Pose::of).collect::<Result<Vec<Pose>, PoseError>>()?;
    let Some(first) = poses.first() else { return Err(PoseError::Few) };
    let count = poses.len() as f64;
    let mut rotation = first.rotation;
    for _ in 0..STEPS {
        let sum =
            poses.iter().fold(Vector3::zeros(), |sum, pose| sum + (rotation.inverse() * pose.rotation).scaled_axis());
        let step = sum / count;
        rotation *= Rotation3::from_scaled_axis(step);
        rotation.renormalize();
        if step.norm() < FOUND {
            break;
        }
    }
    let log_scale = poses.iter().map(|pose| pose.log_scale).sum::<f64>() / count;
    let image = maps.iter().fold(Vector3::zeros(), |sum, map| sum + map.apply(&centre).coords) / count;
    Ok(Pose { rotation, log_scale }.about(centre, Point3::from(image)))
}

/// The map from time point i to time point j by two registrations: `forward` from i to j, and `backward` from j to i.
/// Both count equally, so the map in the other direction is the inverse. `centre` is a point of time point i.
///
/// # Errors
/// A map that is singular or mirrors.
pub fn between(
    forward: &AffineTransform,
    backward: &AffineTransform,
    centre: Point3<f64>,
) -> Result<AffineTransform, PoseError> {
    let back = backward.inverse().ok_or(PoseError::NotAPose)?;
    mean(&[*forward, back], centre)
}

/// The poses of time points (common space → time point) from the maps between all of them. `maps[i][j]` maps time point i
/// to time point j; `maps[i][i]` is the identity. `centres[i]` is the centre of the brain in time point i.
///
/// The inverse of pose i is the mean over all j of the maps from i to j. For small differences, these are the poses with
/// the least sum of squared differences between `maps[i][j]` and the map by the common space, and the mean of all poses is
/// the identity: the common space favours no time point.
///
/// # Errors
/// Fewer than two time points; maps that are missing, singular or mirror.
pub fn halfway(maps: &[Vec<AffineTransform>], centres: &[Point3<f64>]) -> Result<Vec<AffineTransform>, PoseError> {
    let count = centres.len();
    if count < 2 || maps.len() != count || maps.iter().any(|row| row.len() != count) {
        return Err(PoseError::Few);
    }
    let inverse = |(row, centre): (&Vec<AffineTransform>, &Point3<f64>)| {
        mean(row, *centre)?.inverse().ok_or(PoseError::NotAPose)
    };
    let poses = maps.iter().zip(centres).map(inverse).collect::<Result<Vec<_>, _>>()?;
    recentred(&poses, centres)
}

/// The same poses in a common space that is moved so that the mean of the poses is the identity.
///
/// # Errors
/// No pose; a pose that is singular or mirrors.
pub fn recentred(poses: &[AffineTransform], centres: &[Point3<f64>]) -> Result<Vec<AffineTransform>, PoseError> {
    let centre = common_centre(poses, centres)?;
    let back = mean(poses, centre)?.inverse().ok_or(PoseError::NotAPose)?;
    Ok(poses.iter().map(|pose| pose.after(&back)).collect())
}

/// The mean of the centres of the brains, in the common space.
fn common_centre(poses: &[AffineTransform], centres: &[Point3<f64>]) -> Result<Point3<f64>, PoseError> {
    let mut sum = Vector3::zeros();
    for (pose, centre) in poses.iter().zip(centres) {
        sum += pose.inverse().ok_or(PoseError::NotAPose)?.apply(centre).coords;
    }
    match poses.len().min(centres.len()) {
        0 => Err(PoseError::Few),
        count => Ok(Point3::from(sum / count as f64)),
    }
}

/// The pose at this share of the way from `from` to `to`, along the shortest rotation about `centre`, a point of the
/// common space.
///
/// # Errors
/// A pose that is singular or mirrors.
pub fn part_of_way(
    from: &AffineTransform,
    to: &AffineTransform,
    share: f64,
    centre: Point3<f64>,
) -> Result<AffineTransform, PoseError> {
    let (start, end) = (Pose::of(from)?, Pose::of(to)?);
    let turn = (start.rotation.inverse() * end.rotation).scaled_axis() * share;
    let mut rotation = start.rotation * Rotation3::from_scaled_axis(turn);
    rotation.renormalize();
    let log_scale = start.log_scale + share * (end.log_scale - start.log_scale);
    let (a, b) = (from.apply(&centre), to.apply(&centre));
    Ok(Pose { rotation, log_scale }.about(centre, a + (b - a) * share))
}

/// Radius of the sphere on which two maps are compared, mm: about that of a brain.
const RADIUS_MM: f64 = 70.0;

/// Largest distance, mm, between where `maps[i][j]` takes the six ends of the axes of a sphere around the brain of time
/// point i, and where the poses take them.
///
/// # Errors
/// A pose that is singular.
pub fn disagreement_mm(
    maps: &[Vec<AffineTransform>],
    poses: &[AffineTransform],
    centres: &[Point3<f64>],
) -> Result<f64, PoseError> {
    let mut largest = 0.0_f64;
    for ((row, pose), centre) in maps.iter().zip(poses).zip(centres) {
        let back = pose.inverse().ok_or(PoseError::NotAPose)?;
        for (map, other) in row.iter().zip(poses) {
            let by_poses = other.after(&back);
            for axis in 0..3 {
                for sign in [-RADIUS_MM, RADIUS_MM] {
                    let mut point = *centre;
                    point[axis] += sign;
                    largest = largest.max((map.apply(&point) - by_poses.apply(&point)).norm());
                }
            }
        }
    }
    Ok(largest)
}
