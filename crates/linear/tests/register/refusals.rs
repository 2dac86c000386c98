//! Tests that invalid input is refused with the reason.

use crate::object::fixed;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{AngleSearch, Cost, Dof, Error, Fixed, Options, Search, Side, Start, register};
use nalgebra::{Matrix3, Vector3};

fn refused(fixed: &Volume, moving: &Volume, weights: [Option<&Volume>; 2], options: &Options) -> Error {
    refused_from(Start::CentreOfMass, fixed, moving, weights, options)
}

fn refused_from(
    start: Start,
    fixed: &Volume,
    moving: &Volume,
    weights: [Option<&Volume>; 2],
    options: &Options,
) -> Error {
    register(&Cpu, fixed, moving, weights[0], weights[1], options, start, &mut ()).expect_err("a refusal")
}

#[test]
fn constant_images() {
    let (image, constant) = (fixed(), Volume::filled(fixed().grid, 7.0));
    let options = Options::default();
    assert!(matches!(refused(&constant, &image, [None; 2], &options), Error::Constant(Side::Fixed)));
    assert!(matches!(refused(&image, &constant, [None; 2], &options), Error::Constant(Side::Moving)));
}

#[test]
fn voxels_that_are_not_numbers() {
    let (image, mut broken) = (fixed(), fixed());
    broken.voxels[5] = f32::NAN;
    broken.voxels[500] = f32::INFINITY;
    let error = refused(&image, &broken, [None; 2], &Options::default());
    assert!(matches!(error, Error::NotFinite { side: Side::Moving, count: 2 }));
    assert_eq!(error.to_string(), "the moving image has 2 voxels that are not finite numbers");
}

#[test]
fn weights_that_do_not_fit_or_are_empty() {
    let image = fixed();
    let options = Options::default();
    let elsewhere = Volume::filled(Grid::axis_aligned([37, 45, 34], [4.0; 3]), 1.0);
    let empty = Volume::filled(image.grid.clone(), 0.0);
    let mut negative = Volume::filled(image.grid.clone(), 1.0);
    negative.voxels[3] = -1.0;
    let refused = |weights| refused(&image, &image, weights, &options);
    assert!(matches!(refused([Some(&elsewhere), None]), Error::WeightGrid { side: Side::Fixed, .. }));
    assert!(matches!(refused([None, Some(&elsewhere)]), Error::WeightGrid { side: Side::Moving, .. }));
    assert!(matches!(refused([Some(&empty), None]), Error::Weight(Side::Fixed)));
    assert!(matches!(refused([None, Some(&negative)]), Error::Weight(Side::Moving)));
}

#[test]
fn weights_that_leave_fewer_voxels_than_bins() {
    let image = fixed();
    let mut few = Volume::filled(image.grid.clone(), 0.0);
    few.voxels[20_000..20_063].fill(1.0);
    let options = Options::of(Cost::MutualInformation);
    for (weights, side) in [([Some(&few), None], Side::Fixed), ([None, Some(&few)], Side::Moving)] {
        let error = refused(&image, &image, weights, &options);
        assert!(matches!(error, Error::FewVoxels { side: found, .. } if found == side), "{error}");
        let text = format!("the mask of the {side} image leaves 63 voxels, fewer than there are bins: 64");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn images_of_one_intensity_where_they_count() {
    let (image, ones) = (fixed(), Volume::filled(fixed().grid, 1.0));
    // The image is bright only in one corner, and the mask excludes this corner.
    let mut corner = Volume::filled(image.grid.clone(), 5.0);
    let mut mask = ones.clone();
    for index in 0..image.grid.len() {
        let [i, j, k] = [index % 37, index / 37 % 45, index / 37 / 45];
        if i < 12 && j < 12 && k < 12 {
            corner.voxels[index] = 900.0;
        }
        if i < 24 && j < 24 && k < 24 {
            mask.voxels[index] = 0.0;
        }
    }
    for cost in [Cost::CorrelationRatio, Cost::MutualInformation, Cost::NormalisedCorrelation] {
        let options = Options { search: Search::None, ..Options::of(cost) };
        let error = refused(&image, &corner, [None, Some(&mask)], &options);
        assert!(matches!(error, Error::NoOverlap), "{error} by {cost:?}");
    }
}

#[test]
fn images_that_never_meet() {
    let far = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(1e4, 0.0, 0.0) };
    for dof in [Dof::Translation3, Dof::Affine12] {
        let options = Options { dof, search: Search::None, ..Options::default() };
        let error = refused_from(Start::Transform(far), &fixed(), &fixed(), [None; 2], &options);
        assert!(matches!(error, Error::NoOverlap), "{error} with {dof:?}");
    }
}

#[test]
fn starts_that_cannot_be_inverted() {
    let flat = AffineTransform { matrix: Matrix3::zeros(), translation: Vector3::zeros() };
    let nowhere = AffineTransform { translation: Vector3::repeat(f64::NAN), ..AffineTransform::identity() };
    let side = Fixed::new(&Cpu, &fixed(), None, &Options::default()).expect("a fixed side");
    for start in [flat, nowhere].map(Start::Transform) {
        for dof in [Dof::Translation3, Dof::Affine12] {
            let options = Options { dof, ..Options::default() };
            let error = refused_from(start, &fixed(), &fixed(), [None; 2], &options);
            assert!(matches!(error, Error::SingularStart), "{error} with {dof:?}");
        }
        assert!(matches!(side.start(&Cpu, &fixed(), None, start), Err(Error::SingularStart)));
    }
}

#[test]
fn options_without_meaning() {
    let image = fixed();
    let refused = |options: Options| refused(&image, &image, [None; 2], &options);
    let angles = |angles| Options { search: Search::Angles(angles), ..Options::default() };
    for found in [0, 1, 1025] {
        let error = refused(Options { bins: found, ..Options::default() });
        assert_eq!(error.to_string(), format!("number of intensity bins: {found}, expected 2 to 1024"));
    }
    assert!(matches!(refused(Options { finest_mm: 3.0, ..Options::default() }), Error::FinestLevel(_)));
    for robust_shares in [[0.5, 0.5], [-0.1, 0.9], [0.0, 1.1], [f64::NAN, 1.0]] {
        assert!(matches!(refused(Options { robust_shares, ..Options::default() }), Error::RobustShares(_)));
    }
    let range_degrees = [0.0, 200.0, 0.0];
    assert!(matches!(refused(angles(AngleSearch { range_degrees, ..Default::default() })), Error::AngleRange(_)));
    let fine_step_degrees = 0.0;
    assert!(matches!(refused(angles(AngleSearch { fine_step_degrees, ..Default::default() })), Error::AngleStep(_)));
}
