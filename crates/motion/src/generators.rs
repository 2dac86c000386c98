//! Generators of small motions, one for each degree of freedom of the transform.

use antsreg_core::AffineTransform;
use antsreg_linear::Dof;
use nalgebra::{Matrix4, Point3, Vector3};

/// The generators of a transform model: for each parameter, the velocity x ↦ G·x of points (RAS mm) relative to a
/// centre. Rotation parameters are angles in radians times [`RADIUS_MM`](Generators::RADIUS_MM), so that all parameters
/// are comparable to mm.
#[derive(Debug, Clone)]
pub(crate) struct Generators {
    centre: Point3<f64>,
    /// Homogeneous matrices G for points relative to the centre. The last row of each matrix is 0.
    matrices: Vec<Matrix4<f64>>,
}

impl Generators {
    /// A parameter of a rotation or stretch is counted in mm: the value 1 moves a point at this distance from the
    /// centre, mm, by 1 mm.
    pub const RADIUS_MM: f64 = 50.0;

    /// Makes the generators of the transform model `dof` (rigid or affine, for instance): one small motion for each of
    /// its parameters. Rotations and scales are about `centre` (RAS mm).
    pub fn new(dof: Dof, centre: Point3<f64>) -> Generators {
        let entry = |row: usize, column: usize, value: f64| {
            let mut matrix = Matrix4::zeros();
            matrix[(row, column)] = value;
            matrix
        };
        let small = 1.0 / Generators::RADIUS_MM;
        let turn = |axis: usize| {
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            entry(b, a, small) + entry(a, b, -small)
        };
        let mut matrices: Vec<Matrix4<f64>> = (0..3).map(|axis| entry(axis, 3, 1.0)).collect();
        match dof {
            Dof::Translation3 => {}
            Dof::Affine12 => matrices.extend((0..9).map(|n| entry(n / 3, n % 3, small))),
            Dof::Rigid6 | Dof::Similarity7 | Dof::Scales9 => matrices.extend((0..3).map(turn)),
        }
        let stretch = |axis: usize| entry(axis, axis, small);
        match dof {
            Dof::Similarity7 => matrices.push(stretch(0) + stretch(1) + stretch(2)),
            Dof::Scales9 => matrices.extend((0..3).map(stretch)),
            Dof::Translation3 | Dof::Rigid6 | Dof::Affine12 => {}
        }
        Generators { centre, matrices }
    }

    /// The centre of rotations and stretches, RAS mm.
    pub fn centre(&self) -> Point3<f64> {
        self.centre
    }

    /// Number of parameters of the transform model: 6 for rigid, 12 for affine, for instance.
    pub fn len(&self) -> usize {
        self.matrices.len()
    }

    /// For each parameter of the transform model: the velocity at which a point moves if the parameter grows, in mm per
    /// unit of the parameter. The point is in RAS mm.
    pub fn velocities(&self, point: &Point3<f64>) -> impl Iterator<Item = Vector3<f64>> {
        let offset = (point - self.centre).push(1.0);
        self.matrices.iter().map(move |matrix| (matrix * offset).xyz())
    }

    /// Returns the affine map (RAS mm) for these motion parameters: the matrix exponential of the sum of the generators
    /// (matrices of small motions), each multiplied by its parameter.
    pub fn map(&self, parameters: &[f64]) -> AffineTransform {
        let sum: Matrix4<f64> = self.matrices.iter().zip(parameters).map(|(matrix, value)| matrix * *value).sum();
        let map = AffineTransform::from_homogeneous(&sum.exp());
        // The matrix exponential gives a map of positions relative to the centre of rotation. The translation is
        // changed so that the map takes world positions.
        let translation = self.centre.coords - map.matrix * self.centre.coords + map.translation;
        AffineTransform { translation, ..map }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn velocities_are_the_derivatives_of_the_map() {
        let centre = Point3::new(3.0, -20.0, 7.0);
        let point = Point3::new(40.0, 12.0, -33.0);
        for (dof, count) in Dof::ALL.into_iter().zip([3, 6, 7, 9, 12]) {
            let generators = Generators::new(dof, centre);
            assert_eq!(generators.len(), count);
            for (n, velocity) in generators.velocities(&point).enumerate() {
                let mut parameters = vec![0.0; count];
                const STEP: f64 = 1e-4;
                parameters[n] = STEP;
                let moved = generators.map(&parameters).apply(&point);
                // The expected velocity of a point is the derivative of its position with respect to a motion
                // parameter. The test compares it with a difference quotient, which differs by about 1e-4 because of
                // terms of second order in the step `STEP`.
                assert!(((moved - point) / STEP - velocity).norm() < 1e-3, "{dof:?}, parameter {n}");
            }
        }
    }

    #[test]
    fn rigid_parameters_make_rotations() {
        let generators = Generators::new(Dof::Rigid6, Point3::new(1.0, 2.0, 3.0));
        let map = generators.map(&[1.0, -2.0, 0.5, 5.0, -4.0, 3.0]);
        assert!((map.matrix * map.matrix.transpose() - nalgebra::Matrix3::identity()).norm() < 1e-12);
        assert!((map.matrix.determinant() - 1.0).abs() < 1e-12);
    }
}
