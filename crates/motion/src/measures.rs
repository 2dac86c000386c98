//! Summary measures of head motion: rigid parameters, framewise displacement, root-mean-square deviation.

use antsreg_core::AffineTransform;
use nalgebra::{Point3, Rotation3, Vector3};

/// Radius of the sphere on which rotation angles are converted to distances, mm (Power et al. 2012, NeuroImage
/// 59:2142).
const HEAD_RADIUS_MM: f64 = 50.0;
/// Radius of the sphere over which the distance between transforms is averaged, mm (Jenkinson 1999, technical report
/// TR99MJ1).
const DEVIATION_RADIUS_MM: f64 = 80.0;

/// Parameters of a rigid motion of the head between the reference and a volume, about a centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Translation of the centre, from the reference to the volume, RAS mm.
    pub translation: Vector3<f64>,
    /// Rotation angles about x, y and z, radians: the rotation about x acts first, the rotation about z last. Shears
    /// and scales are left out.
    pub rotation: Vector3<f64>,
}

/// The parameters of the head's motion about `centre`, from a transform (reference → volume, RAS mm).
pub fn parameters(transform: &AffineTransform, centre: &Point3<f64>) -> Parameters {
    let translation = transform.apply(centre) - centre;
    let rotation = Rotation3::from_matrix(&transform.matrix).euler_angles();
    Parameters { translation, rotation: Vector3::new(rotation.0, rotation.1, rotation.2) }
}

/// Framewise displacement from one volume to the next, mm. It is the sum of the absolute changes of the three
/// translations and of the three rotations, where rotations are arc lengths on a sphere with a radius of 50 mm (Power
/// et al. 2012).
pub fn framewise_displacement(before: &Parameters, after: &Parameters) -> f64 {
    let sum = |vector: Vector3<f64>| vector.abs().sum();
    sum(after.translation - before.translation) + HEAD_RADIUS_MM * sum(after.rotation - before.rotation)
}

/// Root-mean-square distance between the positions to which two transforms map the points of a sphere, mm. The sphere
/// has a radius of 80 mm about `centre` (Jenkinson 1999).
pub fn rms_deviation(a: &AffineTransform, b: &AffineTransform, centre: &Point3<f64>) -> f64 {
    let matrix = b.matrix - a.matrix;
    let shift = b.apply(centre) - a.apply(centre);
    (DEVIATION_RADIUS_MM.powi(2) / 5.0 * matrix.norm_squared() + shift.norm_squared()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_motion() {
        let centre = Point3::new(10.0, -5.0, 30.0);
        let rotation = Rotation3::from_euler_angles(0.02, -0.05, 0.1);
        let shift = Vector3::new(1.0, -2.0, 0.5);
        let translation = centre.coords + shift - rotation * centre.coords;
        let found = parameters(&AffineTransform { matrix: rotation.into_inner(), translation }, &centre);
        assert!((found.translation - shift).norm() < 1e-12);
        assert!((found.rotation - Vector3::new(0.02, -0.05, 0.1)).norm() < 1e-12);
        let still = Parameters { translation: Vector3::zeros(), rotation: Vector3::zeros() };
        assert!((framewise_displacement(&still, &found) - (3.5 + 50.0 * 0.17)).abs() < 1e-9);
    }

    #[test]
    fn the_deviation_is_the_mean_over_the_sphere() {
        let centre = Point3::new(4.0, 8.0, -3.0);
        let a = AffineTransform::identity();
        let b = AffineTransform {
            matrix: Rotation3::from_euler_angles(0.1, 0.2, -0.1).into_inner(),
            translation: Vector3::new(1.0, 2.0, 3.0),
        };
        // For comparison, the squared distance between the positions to which `a` and `b` map a point is averaged over
        // the points of a 4 mm lattice in the sphere.
        let steps = || (-20..=20).map(|n| 4.0 * f64::from(n));
        let offsets = steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| Vector3::new(x, y, z))));
        let (mut sum, mut count) = (0.0, 0.0);
        for offset in offsets.filter(|offset| offset.norm() <= 80.0) {
            let point = centre + offset;
            sum += (b.apply(&point) - a.apply(&point)).norm_squared();
            count += 1.0;
        }
        let expected = (sum / count).sqrt();
        // For the lattice points, the mean squared distance from the centre differs by some thousandths of its value
        // from that of the whole sphere.
        assert!((rms_deviation(&a, &b, &centre) - expected).abs() < 5e-3 * expected);
    }
}
