//! The transform at which the search begins.

use antsreg_core::{AffineTransform, Unit};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::pose::Pose;

/// The transform at which the search begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// The centres of mass of both images are aligned; the axes are those of the headers. The mass of a voxel is its
    /// intensity on the search's coarsest level: clamped, above the lower end of the robust range, times the weight.
    CentreOfMass,
    /// The identity in the world coordinates that the headers of both images define.
    Headers,
    /// The registration starts from this given transform, fixed → moving, RAS mm.
    Transform(AffineTransform),
}

impl Start {
    /// The start with its lengths in `unit`.
    pub(crate) fn in_unit(self, unit: Unit) -> Start {
        match self {
            Start::Transform(transform) => Start::Transform(unit.transform(&transform)),
            other => other,
        }
    }

    /// Returns the start as a transform, fixed → moving, RAS mm. `poses` computes the poses of the fixed and the moving
    /// image.
    pub(crate) fn transform(
        self,
        poses: impl FnOnce() -> Result<[Pose; 2], Error>,
    ) -> Result<AffineTransform, Error> {
        let transform = match self {
            Start::Headers => AffineTransform::identity(),
            Start::Transform(transform) => transform,
            Start::CentreOfMass => {
                let [fixed, moving] = poses()?;
                AffineTransform { translation: moving.centre - fixed.centre, ..AffineTransform::identity() }
            }
        };
        inverse(&transform).map(|_| transform)
    }
}

/// Returns the inverse of a start transform, or an error if the start has no finite inverse.
pub(crate) fn inverse(start: &AffineTransform) -> Result<AffineTransform, Error> {
    let finite = |transform: &AffineTransform| {
        transform.matrix.iter().chain(transform.translation.iter()).all(|value| value.is_finite())
    };
    start.inverse().filter(finite).ok_or(Error::SingularStart)
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Point3, Vector3};

    use super::*;

    #[test]
    fn centres_of_mass_are_aligned_by_a_translation() {
        let pose = |centre| Pose { centre, axes: Matrix3::identity(), extent: Vector3::repeat(20.0) };
        let poses = [pose(Point3::new(3.0, -5.0, 7.0)), pose(Point3::new(40.0, 10.0, -20.0))];
        let found = Start::CentreOfMass.transform(|| Ok(poses)).expect("a start");
        assert_eq!((found.matrix, found.translation), (Matrix3::identity(), Vector3::new(37.0, 15.0, -27.0)));
    }
}
