//! Tests of which searches may exchange the roles of the images.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Rotation3, Vector3};

use super::*;
use crate::fixed::Fixed;

/// An image with a gradient along all axes.
fn ramp(shape: [usize; 3]) -> Volume {
    let grid = Grid::axis_aligned(shape, [8.0; 3]);
    Volume { voxels: (0..grid.len()).map(|n| n as f32).collect(), grid }
}

/// Whether a search with these options from this start may exchange the roles of two images of this shape.
fn may(shape: [usize; 3], options: &Options, start: &Matrix3<f64>) -> bool {
    let image = ramp(shape);
    let fixed = Fixed::new(&Cpu, &image, None, options).expect("a fixed image");
    let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
    may_exchange(&images, options, &AffineTransform { matrix: *start, ..AffineTransform::identity() })
}

#[test]
fn a_search_of_volumes_may_exchange_the_roles_if_its_model_has_all_inverses() {
    let turned = Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner();
    let stretched = turned * Matrix3::from_diagonal(&Vector3::new(1.1, 1.0, 1.0));
    let shape = [12, 11, 10];
    for dof in Dof::ALL {
        let options = Options { dof, ..Options::default() };
        let has_inverses = matches!(dof, Dof::Rigid6 | Dof::Similarity7 | Dof::Affine12);
        assert_eq!(may(shape, &options, &(2.0 * turned)), has_inverses, "{dof:?}");
        assert_eq!(may(shape, &options, &stretched), dof == Dof::Affine12, "{dof:?}, stretched");
        assert!(!may([12, 11, 1], &options, &Matrix3::identity()), "{dof:?}, slices");
    }
}

#[test]
fn local_searches_least_squares_and_unequal_ranges_keep_the_roles() {
    let unequal = AngleSearch { range_degrees: [90.0, 90.0, 30.0], ..AngleSearch::default() };
    for (options, expected) in [
        (Options::of(Cost::NormalisedCorrelation), true),
        (Options::of(Cost::LeastSquares), false),
        (Options { search: Search::None, ..Options::default() }, false),
        (Options { search: Search::Angles(unequal), ..Options::default() }, false),
    ] {
        assert_eq!(may([12, 11, 10], &options, &Matrix3::identity()), expected, "{options:?}");
    }
}
