//! Reorientation of resampled vectors and diffusion tensors, and logarithm and exponential of tensors, as in
//! `antsApplyTransforms` before and after resampling.
//!
//! The six components of a tensor are in NIfTI's order: xx, xy, yy, xz, yz, zz.

use nalgebra::{Matrix3, SymmetricEigen, Vector3};
use rayon::prelude::*;

use super::turns::Turns;

/// Lower limit for tensors: a tensor whose norm is below this limit counts as zero, and eigenvalues below it are
/// replaced by the limit.
const LEAST: f64 = 1e-12;
/// Row and column in the tensor's matrix of each of the six components.
const PLACES: [(usize, usize); 6] = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];

/// Reorients every vector of an image that was resampled through a chain, by the chain's local rotation.
pub fn turn_vectors(components: [&mut Vec<f32>; 3], turns: &Turns) {
    let [x, y, z] = components;
    x.par_iter_mut().zip(y).zip(z).enumerate().for_each(|(voxel, ((x, y), z))| {
        let turned = turns.vector(voxel, Vector3::new(f64::from(*x), f64::from(*y), f64::from(*z)));
        (*x, *y, *z) = (turned.x as f32, turned.y as f32, turned.z as f32);
    });
}

/// Reorients every tensor of an image that was resampled through a chain, by the chain's local rotation; zero tensors
/// stay zero.
pub fn turn_tensors(components: [&mut Vec<f32>; 6], turns: &Turns) {
    each(components, |voxel, tensor| if is_nothing(&tensor) { tensor } else { turns.tensor(voxel, tensor) });
}

/// Replaces every tensor by its logarithm. A zero tensor stays zero if `background` is 0; otherwise it counts as
/// `background` times the identity.
pub fn logarithm(components: [&mut Vec<f32>; 6], background: f32) {
    let background = f64::from(background);
    each(components, |_, tensor| {
        let tensor = if background > 0.0 && is_nothing(&tensor) { Matrix3::identity() * background } else { tensor };
        by_eigenvalues(tensor, |value| value.max(LEAST).ln())
    });
}

/// Replaces every tensor by its exponential; zero tensors stay zero.
pub fn exponential(components: [&mut Vec<f32>; 6]) {
    each(components, |_, tensor| by_eigenvalues(tensor, f64::exp));
}

fn is_nothing(tensor: &Matrix3<f64>) -> bool {
    tensor.norm() < LEAST
}

fn by_eigenvalues(tensor: Matrix3<f64>, map: impl Fn(f64) -> f64) -> Matrix3<f64> {
    if is_nothing(&tensor) || !tensor.iter().all(|value| value.is_finite()) {
        return Matrix3::zeros();
    }
    let eigen = SymmetricEigen::new(tensor);
    eigen.eigenvectors * Matrix3::from_diagonal(&eigen.eigenvalues.map(map)) * eigen.eigenvectors.transpose()
}

/// Replaces the tensor of each voxel by `map(voxel, tensor)`.
fn each(components: [&mut Vec<f32>; 6], map: impl Fn(usize, Matrix3<f64>) -> Matrix3<f64> + Sync) {
    let [a, b, c, d, e, f] = components;
    let first = a.par_iter_mut().zip(b).zip(c);
    first.zip(d.par_iter_mut().zip(e).zip(f)).enumerate().for_each(|(voxel, (((a, b), c), ((d, e), f)))| {
        let stored = [a, b, c, d, e, f];
        let mut tensor = Matrix3::zeros();
        for (value, (row, column)) in stored.iter().zip(PLACES) {
            tensor[(row, column)] = f64::from(**value);
            tensor[(column, row)] = f64::from(**value);
        }
        let mapped = map(voxel, tensor);
        for (value, place) in stored.into_iter().zip(PLACES) {
            *value = mapped[place] as f32;
        }
    });
}

#[cfg(test)]
mod tests {
    use antsreg_core::{AffineTransform, Grid, Transform, TransformChain};
    use nalgebra::Rotation3;

    use super::*;

    /// Two voxels for the tests: a tensor with the given eigenvalues along rotated axes, and a zero tensor.
    fn tensors(turn: &Rotation3<f64>, values: [f64; 3]) -> [Vec<f32>; 6] {
        let tensor = turn * Matrix3::from_diagonal(&values.into()) * turn.inverse();
        PLACES.map(|place| vec![tensor[place] as f32, 0.0])
    }

    #[test]
    fn a_logarithm_has_the_axes_of_its_tensor_and_is_undone() {
        let turn = Rotation3::from_euler_angles(0.4, -0.9, 1.3);
        let (start, expected) = (tensors(&turn, [2.0, 0.5, 1.0]), tensors(&turn, [2f64.ln(), 0.5f64.ln(), 0.0]));
        let mut found = start.clone();
        logarithm(found.each_mut(), 0.0);
        let close = |a: &[Vec<f32>; 6], b: &[Vec<f32>; 6]| {
            (0..6).all(|n| a[n].iter().zip(&b[n]).all(|(a, b)| (a - b).abs() < 1e-6))
        };
        assert!(close(&found, &expected), "{found:?}");
        exponential(found.each_mut());
        assert!(close(&found, &start), "{found:?}");
        logarithm(found.each_mut(), 0.25);
        assert!((found[0][1] - 0.25f32.ln()).abs() < 1e-6 && found[1][1] == 0.0, "{found:?}");
        // The background replaces zero tensors only.
        (0..6).for_each(|n| assert!((found[n][0] - expected[n][0]).abs() < 1e-6, "{found:?}"));
    }

    #[test]
    fn turning_moves_the_axes() {
        // In this test the axes of the fixed grid are those of the moving grid after a quarter turn about z.
        let turn = Rotation3::from_euler_angles(0.0, 0.0, -std::f64::consts::FRAC_PI_2).into_inner();
        let affine = Transform::Affine(AffineTransform { matrix: turn, translation: Vector3::new(3.0, 2.0, 1.0) });
        let (chain, onto) = (TransformChain::from(vec![affine]), Grid::axis_aligned([1, 1, 1], [1.0; 3]));
        let turns = Turns::new(&onto, &chain, &Matrix3::identity());
        let mut tensor = [3.0, 0.0, 2.0, 0.0, 0.0, 1.0].map(|value| vec![value]);
        turn_tensors(tensor.each_mut(), &turns);
        for (found, expected) in tensor.iter().zip([2.0, 0.0, 3.0, 0.0, 0.0, 1.0]) {
            assert!((found[0] - expected).abs() < 1e-6, "{tensor:?}");
        }
        let mut vector = [1.0, 0.0, 5.0].map(|value| vec![value]);
        turn_vectors(vector.each_mut(), &turns);
        for (found, expected) in vector.iter().zip([0.0, 1.0, 5.0]) {
            assert!((found[0] - expected).abs() < 1e-6, "{vector:?}");
        }
    }

    #[test]
    fn only_tensors_below_the_limit_count_as_zero() {
        let tensor = |value: f64| Matrix3::from_diagonal(&Vector3::new(value, 0.0, 0.0));
        assert!(is_nothing(&tensor(0.0)) && is_nothing(&tensor(0.99 * LEAST)));
        assert_eq!(tensor(LEAST).norm(), LEAST);
        assert!(!is_nothing(&tensor(LEAST)));
    }
}
