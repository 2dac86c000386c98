//! Composition of a chain of transforms to one displacement field.

use antsreg_core::{AffineTransform, DisplacementField, Grid, TransformChain};
use nalgebra::Point3;
use rayon::prelude::*;

use super::path::Path;

/// The displacement field u on the grid `onto` that equals a chain of transforms: x + u(x) = chain(x) at every voxel
/// centre x.
pub fn compose(onto: &Grid, chain: &TransformChain) -> DisplacementField {
    let path = Path::to(onto, chain, &AffineTransform::identity());
    let to_world = onto.voxel_to_world();
    let [nx, ny, _] = onto.shape;
    let mut field = DisplacementField::zeros(onto.clone());
    field.vectors.par_chunks_exact_mut(nx).enumerate().with_min_len(16).for_each_init(
        || vec![[0.0; 3]; nx],
        |points, (row, out)| {
            path.row(row, points);
            for (i, (vector, point)) in out.iter_mut().zip(points.iter()).enumerate() {
                let start = to_world.apply(&Point3::new(i as f64, (row % ny) as f64, (row / ny) as f64));
                *vector = std::array::from_fn(|axis| (point[axis] - start[axis]) as f32);
            }
        },
    );
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, oblique_grid, world};

    #[test]
    fn the_field_does_what_the_chain_does() {
        let onto = oblique_grid([7, 5, 9], 2);
        for (number, chain) in chains(&onto).iter().enumerate() {
            let field = compose(&onto, chain);
            let mut moved = 0.0f64;
            for (n, vector) in field.vectors.iter().enumerate() {
                let start = world(&onto, n);
                let expected = chain.apply(&start) - start;
                moved = moved.max(expected.norm());
                // Tolerance: the displacements, of about 10 mm, are in single precision.
                assert!((0..3).all(|axis| (f64::from(vector[axis]) - expected[axis]).abs() < 1e-5), "{number}");
            }
            assert!(number == 0 || moved > 1.0, "{number}: {moved}");
        }
    }
}
