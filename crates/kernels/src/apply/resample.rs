//! Resampling of volumes through a chain of transforms.

use antsreg_core::{Grid, TransformChain, Volume};

use super::{
    bspline::BSpline,
    gaussian_kernel::{GaussianKernel, GaussianWeights},
    gaussian_vote::GaussianVote,
    labels::Vote,
    linear::Linear,
    nearest::Nearest,
    path::Path,
    sample::fill,
    sinc::{Window, WindowedSinc},
    spline_order::{SplineOfOrder, SplineOrder},
};

/// Interpolation of an image between voxel centres. Each interpolation gives the result of the ITK function that
/// `antsApplyTransforms` uses.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Trilinear interpolation.
    Linear,
    /// The value of the nearest voxel. Half-way between two voxels, the voxel with the higher index is taken.
    Nearest,
    /// Cubic B-spline through the voxels; near edges, values may exceed those of the voxels.
    BSpline,
    /// B-spline of any order through the voxels.
    BSplineOfOrder(SplineOrder),
    /// Windowed sinc of radius 3; near edges, values may exceed those of the voxels.
    WindowedSinc(Window),
    /// Weighted mean of the voxels, with Gaussian weights; it also smooths.
    Gaussian {
        /// Standard deviation of the Gaussian along each axis of the moving image, mm; positive. ANTs' default is the
        /// spacing.
        sigma_mm: [f64; 3],
        /// Distance at which the Gaussian is cut off, in standard deviations; positive. ANTs' default is 1.
        alpha: f64,
    },
    /// For label maps: the value with the largest sum of trilinear weights among the eight neighbours.
    GenericLabel,
    /// For label maps: the value with the largest mass under a Gaussian.
    MultiLabel {
        /// Standard deviation of the Gaussian along each axis of the moving image, mm; positive. ANTs' default is the
        /// spacing.
        sigma_mm: [f64; 3],
        /// Distance at which the Gaussian is cut off, in standard deviations; positive. ANTs' default is 4.
        alpha: f64,
    },
}

/// Resamples `moving` on the grid `onto`. The transforms of `chain` map the world point x of a voxel to chain(x). The
/// voxel gets the moving image's value at chain(x), or `outside` if chain(x) is more than half a voxel outside the
/// moving grid.
pub fn resample(
    moving: &Volume,
    onto: &Grid,
    chain: &TransformChain,
    interpolation: Interpolation,
    outside: f32,
) -> Volume {
    let path = Path::new(onto, chain, &moving.grid);
    let (shape, voxels) = (moving.grid.shape, moving.voxels.as_slice());
    let gaussian = |sigma_mm: [f64; 3], alpha| {
        let sigma_voxels = std::array::from_fn(|axis| sigma_mm[axis] / moving.grid.spacing[axis]);
        GaussianWeights::new(shape, sigma_voxels, alpha)
    };
    let voxels = match interpolation {
        Interpolation::Linear => fill(&path, onto, shape, &Linear { shape, voxels }, outside),
        Interpolation::Nearest => fill(&path, onto, shape, &Nearest { shape, voxels }, outside),
        Interpolation::BSpline => fill(&path, onto, shape, &BSpline::through(shape, voxels), outside),
        Interpolation::WindowedSinc(window) => {
            fill(&path, onto, shape, &WindowedSinc::new(shape, voxels, window), outside)
        }
        Interpolation::BSplineOfOrder(order) => {
            fill(&path, onto, shape, &SplineOfOrder::through(shape, voxels, order), outside)
        }
        Interpolation::Gaussian { sigma_mm, alpha } => {
            fill(&path, onto, shape, &GaussianKernel { weights: gaussian(sigma_mm, alpha), voxels }, outside)
        }
        Interpolation::GenericLabel => fill(&path, onto, shape, &Vote { shape, voxels }, outside),
        Interpolation::MultiLabel { sigma_mm, alpha } => {
            fill(&path, onto, shape, &GaussianVote { weights: gaussian(sigma_mm, alpha), voxels }, outside)
        }
    };
    Volume { grid: onto.clone(), voxels }
}

#[cfg(test)]
mod tests {
    use antsreg_core::{AffineTransform, Transform};
    use nalgebra::{Matrix3, Vector3};

    use super::*;
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices, tent_weights};

    #[test]
    fn linear_is_the_sum_of_tents() {
        for shape in [[9, 7, 5], [1, 8, 3], [6, 1, 1]] {
            let moving = noise_volume(oblique_grid(shape, 1), 7);
            let onto = oblique_grid([7, 5, 9], 2);
            for (n, chain) in chains(&onto).iter().enumerate() {
                let moved = resample(&moving, &onto, chain, Interpolation::Linear, -5.0);
                let mut inside = 0;
                for (index, found) in slow_indices(&onto, chain, &moving.grid).into_iter().zip(&moved.voxels) {
                    let expected = index.map_or(-5.0, |index| {
                        inside += 1;
                        tent_weights(shape, index).zip(&moving.voxels).map(|(w, v)| w * f64::from(*v)).sum()
                    });
                    // Tolerance: values of up to 1000 are in single precision, with three roundings.
                    assert!((expected - f64::from(*found)).abs() < 1e-3, "chain {n}: {found}, expected {expected}");
                }
                assert!(inside > 2, "chain {n} only reaches {inside} voxels of {shape:?}");
            }
        }
    }

    #[test]
    fn nearest_takes_the_voxel_of_the_rounded_index() {
        let moving = noise_volume(oblique_grid([9, 7, 5], 1), 7);
        let onto = oblique_grid([7, 5, 9], 2);
        for chain in chains(&onto) {
            let moved = resample(&moving, &onto, &chain, Interpolation::Nearest, -5.0);
            for (index, found) in slow_indices(&onto, &chain, &moving.grid).into_iter().zip(&moved.voxels) {
                let expected = index.map_or(-5.0, |index| {
                    let [i, j, k] = index.map(|x| (x + 0.5).floor() as usize);
                    moving.voxels[(k * 7 + j) * 9 + i]
                });
                assert_eq!(expected, *found);
            }
        }
    }

    #[test]
    fn a_volume_on_its_own_grid_comes_back_bit_for_bit() {
        let mut grid = Grid::axis_aligned([9, 7, 5], [1.0, 1.25, 0.5]);
        grid.origin = [-12.0, 30.5, 4.0].into();
        let moving = noise_volume(grid, 7);
        for interpolation in [Interpolation::Linear, Interpolation::Nearest] {
            let moved = resample(&moving, &moving.grid, &TransformChain::new(), interpolation, 0.0);
            assert_eq!(moved, moving, "{interpolation:?}");
        }
    }

    #[test]
    fn ties_of_nearest_go_up_whatever_the_rounding() {
        // The spacing 0.1 has no exact binary form, so indices that should be one half are slightly above or below it.
        let moving = noise_volume(Grid::axis_aligned([12, 1, 1], [0.1, 1.0, 1.0]), 7);
        let mut onto = moving.grid.clone();
        onto.shape[0] = 11;
        let half = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(0.05, 0.0, 0.0) };
        let chain = TransformChain::from(vec![Transform::Affine(half)]);
        let moved = resample(&moving, &onto, &chain, Interpolation::Nearest, -1.0);
        assert_eq!(moved.voxels, moving.voxels[1..]);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let moving = noise_volume(oblique_grid([31, 17, 23], 1), 7);
        let onto = oblique_grid([29, 37, 21], 2);
        let chain = &chains(&onto)[5];
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| resample(&moving, &onto, chain, Interpolation::Linear, 0.0))
        };
        assert_eq!(with(1), with(3));
    }
}
