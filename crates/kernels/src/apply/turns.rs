//! Local rotations of a chain of transforms, which reorient vectors and tensors from the axes of one grid to those of
//! another.

use std::borrow::Cow;

use antsreg_core::chain::Step;
use antsreg_core::{DisplacementField, Grid, Transform, TransformChain};
use nalgebra::{Matrix3, Point3, SymmetricEigen, Vector3};

/// The local derivatives of a chain's inverse at each voxel of the fixed grid, and the axes of both grids.
///
/// The inverse derivatives are multiplied in the order in which a point passes through the chain. This is the order of
/// ITK's `CompositeTransform`, and so of ANTs. The other order gives another result if the transforms of the chain
/// rotate about different axes. A vector is rotated by the rotation nearest to the product; a tensor is rotated
/// transform by transform. The inverse derivative of a displacement field u is I − du/dx as in ITK, which is right to
/// first order.
pub struct Turns<'a> {
    onto: &'a Grid,
    chain: &'a TransformChain,
    from: Matrix3<f64>,
    to: Matrix3<f64>,
    /// The inverse derivative of each transform of the chain, if all transforms are affine maps. Then the derivatives
    /// are equal at all voxels.
    everywhere: Option<Vec<Matrix3<f64>>>,
}

impl<'a> Turns<'a> {
    /// Prepares the local rotations of a chain, for a moving grid with the direction matrix `from`.
    pub fn new(onto: &'a Grid, chain: &'a TransformChain, from: &Matrix3<f64>) -> Turns<'a> {
        Turns::between(onto, chain, from, &onto.direction)
    }

    /// Prepares the local rotations of a chain, for components along the axes `from` before, and along the axes `to` after
    /// the rotation. Both have the axes in RAS as columns.
    pub fn between(onto: &'a Grid, chain: &'a TransformChain, from: &Matrix3<f64>, to: &Matrix3<f64>) -> Turns<'a> {
        let mut turns = Turns { onto, chain, from: *from, to: *to, everywhere: None };
        turns.everywhere = chain.affine().map(|_| turns.inverses(0));
        turns
    }

    /// Reorients a vector from the moving grid's axes to the fixed grid's axes, by the rotation nearest to the product
    /// of all inverse derivatives.
    pub fn vector(&self, voxel: usize, vector: Vector3<f64>) -> Vector3<f64> {
        let product = self.at(voxel).iter().fold(Matrix3::identity(), |product, inverse| inverse * product);
        self.to.transpose() * rotation(&product) * self.from * vector
    }

    /// Reorients a tensor by preservation of principal direction (Alexander et al. 2001). The inverse derivative of
    /// each transform of the chain maps the first eigenvector to its new direction, and the plane of the first two
    /// eigenvectors to its new plane.
    pub fn tensor(&self, voxel: usize, tensor: Matrix3<f64>) -> Matrix3<f64> {
        let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(tensor);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| eigenvalues[*b].total_cmp(&eigenvalues[*a]));
        let [first, second] = [0, 1].map(|n| self.from * eigenvectors.column(order[n]));
        let start = (first, second);
        let (first, second) = self.at(voxel).iter().fold(start, |(first, second), inverse| {
            let first = (inverse * first).normalize();
            let second = inverse * second;
            (first, (second - first * first.dot(&second)).normalize())
        });
        let axes = self.to.transpose() * Matrix3::from_columns(&[first, second, first.cross(&second)]);
        axes * Matrix3::from_diagonal(&Vector3::from_fn(|n, _| eigenvalues[order[n]])) * axes.transpose()
    }

    fn at(&self, voxel: usize) -> Cow<'_, [Matrix3<f64>]> {
        match &self.everywhere {
            Some(inverses) => Cow::Borrowed(inverses),
            None => Cow::Owned(self.inverses(voxel)),
        }
    }

    /// The inverse derivative of each transform of the chain; the identity if the derivative is singular.
    fn inverses(&self, voxel: usize) -> Vec<Matrix3<f64>> {
        let [nx, ny, _] = self.onto.shape;
        let index = Point3::new((voxel % nx) as f64, (voxel / nx % ny) as f64, (voxel / (nx * ny)) as f64);
        let mut point = self.onto.voxel_to_world().apply(&index);
        let inverse = |step: &Step| {
            let inverse = match &step.transform {
                Transform::Affine(affine) => affine.matrix.try_inverse().unwrap_or_else(Matrix3::identity),
                Transform::Displacement(field) => Matrix3::identity() - slope(field, &point),
            };
            point = step.transform.apply(&point);
            inverse
        };
        self.chain.steps.iter().map(inverse).collect()
    }
}

/// The rotation nearest to a matrix; the identity if there is none.
fn rotation(matrix: &Matrix3<f64>) -> Matrix3<f64> {
    let svd = matrix.svd(true, true);
    let (Some(mut u), Some(v_t)) = (svd.u, svd.v_t) else { return Matrix3::identity() };
    // If the determinant of the matrix is negative (a fold), the nearest orthogonal matrix is a reflection. It becomes
    // a rotation if the axis of the smallest singular value, the last axis, is reversed.
    if (u * v_t).determinant() < 0.0 {
        u.column_mut(2).neg_mut();
    }
    u * v_t
}

/// The derivative du/dx of a displacement field u at the voxel nearest to a point, by fourth-order differences. Where
/// the outer voxels of a difference would lie outside the field, the border voxel is used. The derivative is zero at
/// the border and outside, as in ITK's `DisplacementFieldTransform`. If the field is a slice, its derivative along the
/// third axis is 0.
fn slope(field: &DisplacementField, point: &Point3<f64>) -> Matrix3<f64> {
    let Grid { shape, .. } = field.grid;
    let to_voxel = field.grid.world_to_voxel();
    let index = to_voxel.apply(point);
    let axes = if field.grid.is_slice() { 2 } else { 3 };
    let mut nearest = [0; 3];
    for axis in 0..axes {
        let rounded = (index[axis] + 0.5).floor();
        if !(rounded >= 1.0 && rounded < shape[axis] as f64 - 1.0) {
            return Matrix3::zeros();
        }
        nearest[axis] = rounded as usize;
    }
    let at = |axis: usize, place: usize| {
        let mut voxel = nearest;
        voxel[axis] = place.min(shape[axis] - 1);
        Vector3::from(field.vectors[(voxel[2] * shape[1] + voxel[1]) * shape[0] + voxel[0]].map(f64::from))
    };
    let mut per_index = Matrix3::zeros();
    for axis in 0..axes {
        let here = nearest[axis];
        let near = at(axis, here + 1) - at(axis, here - 1);
        let far = at(axis, here + 2) - at(axis, here.saturating_sub(2));
        per_index.set_column(axis, &((near * 8.0 - far) / 12.0));
    }
    per_index * to_voxel.matrix
}

#[cfg(test)]
mod tests {
    use antsreg_core::AffineTransform;
    use nalgebra::Rotation3;

    use super::*;
    use crate::apply::test_scenes::{mild_affine, noise_field, oblique_grid, world};

    /// An affine map in the form of a displacement field on a grid.
    fn as_field(affine: &AffineTransform, grid: Grid) -> Transform {
        let vector = |n| {
            let start = world(&grid, n);
            (affine.apply(&start) - start).map(|c| c as f32).into()
        };
        Transform::Displacement(DisplacementField {
            vectors: (0..grid.len()).map(vector).collect(),
            grid: grid.clone(),
        })
    }

    /// The rotation nearest to a matrix, by Higham's iteration, which replaces a matrix by the mean of the matrix and
    /// its transposed inverse.
    fn polar(mut matrix: Matrix3<f64>) -> Matrix3<f64> {
        for _ in 0..30 {
            matrix = (matrix + matrix.try_inverse().expect("it has one").transpose()) * 0.5;
        }
        matrix
    }

    #[test]
    fn a_field_turns_as_the_affine_map_whose_inverse_it_has_to_first_order() {
        let (onto, grid) = (oblique_grid([5, 5, 5], 2), oblique_grid([15, 19, 11], 4));
        let affine = mild_affine();
        let from = Rotation3::from_euler_angles(0.3, 0.1, -0.4).into_inner();
        let inverse = Matrix3::identity() * 2.0 - affine.matrix;
        let alike = AffineTransform { matrix: inverse.try_inverse().expect("it has one"), ..affine };
        let [map, field] = [Transform::Affine(alike), as_field(&affine, grid)];
        let chain = |second: Transform| TransformChain::from(vec![Transform::Affine(affine), second]);
        let (by_map, by_field) = (chain(map), chain(field));
        let middle = onto.len() / 2;
        let vector = Vector3::new(1.0, -2.0, 0.5);
        let tensor = Matrix3::new(3.0, 0.4, 0.1, 0.4, 2.0, -0.3, 0.1, -0.3, 1.0);
        let turn = |chain| {
            let turns = Turns::new(&onto, chain, &from);
            (turns.vector(middle, vector), turns.tensor(middle, tensor))
        };
        let (expected, found) = (turn(&by_map), turn(&by_field));
        // Tolerance: the displacements, of about 10 mm, are in single precision, and their differences are over steps
        // of 0.8 mm.
        assert!((expected.0 - found.0).amax() < 1e-4, "{}, expected {}", found.0, expected.0);
        assert!((expected.1 - found.1).amax() < 1e-4, "{}, expected {}", found.1, expected.1);
        // The local rotations preserve lengths and eigenvalues.
        assert!((expected.0.norm() - vector.norm()).abs() < 1e-12);
        let [before, after] = [tensor, expected.1].map(|tensor| (tensor.trace(), tensor.determinant()));
        assert!((before.0 - after.0).abs() < 1e-9 && (before.1 - after.1).abs() < 1e-9);
    }

    #[test]
    fn a_vector_is_turned_by_the_rotation_nearest_to_the_product_of_all_steps() {
        // The three transforms of the chain shear along different axes. The product of the rotations nearest to each
        // shear is far from the rotation nearest to the product of the shears.
        let (onto, grid) = (oblique_grid([5, 5, 5], 2), oblique_grid([15, 19, 11], 4));
        let shear = |row: usize, column: usize| {
            let mut matrix = Matrix3::identity();
            matrix[(row, column)] = 0.6;
            // Each shear keeps the centre of the field in place, so that the points of the test stay within the
            // displacement fields of all three transforms.
            let centre = grid.centre().coords;
            AffineTransform { matrix, translation: centre - matrix * centre }
        };
        let steps = [shear(0, 1), shear(1, 2), shear(2, 0)];
        let [first, second, third] = [0, 1, 2].map(|n| as_field(&steps[n], grid.clone()));
        let chain = TransformChain::from(vec![first, second, third]);
        let vector = Vector3::new(1.0, -2.0, 0.5);
        let found = Turns::new(&onto, &chain, &Matrix3::identity()).vector(onto.len() / 2, vector);
        let inverse = |step: &AffineTransform| Matrix3::identity() * 2.0 - step.matrix;
        let product = inverse(&steps[2]) * inverse(&steps[1]) * inverse(&steps[0]);
        let expected = onto.direction.transpose() * polar(product) * vector;
        // Tolerance: displacement fields are stored in single precision.
        assert!((found - expected).amax() < 1e-4, "{found}, expected {expected}");
        let one_by_one = steps.iter().fold(vector, |vector, step| rotation(&inverse(step)) * vector);
        assert!((onto.direction.transpose() * one_by_one - expected).amax() > 0.01, "the case tells nothing");
    }

    #[test]
    fn the_principal_direction_goes_where_the_derivative_takes_it() {
        let grid = Grid::axis_aligned([1, 1, 1], [1.0; 3]);
        let chain = TransformChain::from(vec![Transform::Affine(mild_affine())]);
        let turned = Turns::new(&grid, &chain, &Matrix3::identity())
            .tensor(0, Matrix3::from_diagonal(&Vector3::new(1.0, 5.0, 2.0)));
        let inverse = mild_affine().matrix.try_inverse().expect("it has one");
        let direction = (inverse * Vector3::y()).normalize();
        assert!((turned * direction - direction * 5.0).norm() < 1e-12, "{turned}");
    }

    #[test]
    fn a_fold_turns_by_a_rotation_too() {
        let fold = Matrix3::new(-0.2, 0.1, 0.0, 0.1, 1.1, 0.3, 0.0, -0.2, 0.9);
        assert!(fold.determinant() < 0.0);
        let turned = rotation(&fold);
        assert!((turned.determinant() - 1.0).abs() < 1e-12, "{turned}");
        // No rotation is closer to the matrix than the nearest rotation. So if a small rotation is applied after the
        // nearest rotation, the distance to the matrix must increase.
        let apart = |rotation: Matrix3<f64>| (rotation - fold).norm();
        for axis in [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()] {
            for angle in [-0.05, 0.05] {
                assert!(apart(Rotation3::from_axis_angle(&axis, angle) * turned) > apart(turned));
            }
        }
    }

    #[test]
    fn the_border_of_a_field_turns_nothing() {
        let grid = Grid::axis_aligned([6, 6, 6], [1.0; 3]);
        let chain = TransformChain::from(vec![as_field(&mild_affine(), grid.clone())]);
        let turns = Turns::new(&grid, &chain, &Matrix3::identity());
        let vector = Vector3::new(1.0, 2.0, 3.0);
        assert_eq!(turns.vector(0, vector), vector);
        assert_eq!(turns.vector(1 + 6 + 36 * 5, vector), vector);
        assert!((turns.vector(1 + 6 + 36, vector) - vector).norm() > 0.05);
        assert!((turns.vector(2 + 6 * 2 + 36 * 2, vector) - vector).norm() > 0.05);
    }

    #[test]
    fn each_voxel_is_turned_by_the_differences_around_it() {
        let shape = [7, 8, 9];
        let grid = oblique_grid(shape, 2);
        let mut field = noise_field(grid.clone(), 3);
        field.vectors.iter_mut().flatten().for_each(|component| *component *= 0.05);
        let chain = TransformChain::from(vec![Transform::Displacement(field.clone())]);
        let turns = Turns::new(&grid, &chain, &Matrix3::identity());
        let to_index = grid.voxel_to_world().matrix.try_inverse().expect("it has one");
        let vector = Vector3::new(1.0, -2.0, 0.5);
        let number = |[i, j, k]: [usize; 3]| (k * shape[1] + j) * shape[0] + i;
        let interior = (1..8).flat_map(|k| (1..7).flat_map(move |j| (1..6).map(move |i| [i, j, k])));
        for at in interior {
            let per_index = [0, 1, 2].map(|axis| {
                let along = |step: isize| {
                    let mut voxel = at;
                    voxel[axis] = (at[axis] as isize + step).clamp(0, shape[axis] as isize - 1) as usize;
                    Vector3::from(field.vectors[number(voxel)].map(f64::from))
                };
                (along(-2) - along(-1) * 8.0 + along(1) * 8.0 - along(2)) / 12.0
            });
            let inverse = Matrix3::identity() - Matrix3::from_columns(&per_index) * to_index;
            let expected = grid.direction.transpose() * polar(inverse) * vector;
            let found = turns.vector(number(at), vector);
            assert!((found - expected).amax() < 1e-9, "{at:?}: {found}, expected {expected}");
        }
    }
}
