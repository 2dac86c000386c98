//! Tests that each cost function recovers the transforms of image pairs that suit this cost.

use crate::object::{affine, error_mm, fixed, fixed_grid, sampled};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Cpu, JointSampling};
use antsreg_linear::{Cost, Dof, Error, Fixed, Options, Search, Start, register};

/// Tolerances of the tests, mm: a tenth of a voxel, and twice as much for costs of joint histograms, which are less
/// smooth if images have few voxels.
const TOLERANCE_MM: f64 = 0.4;
const ROUGH_TOLERANCE_MM: f64 = 0.8;

fn options(cost: Cost, histogram: JointSampling) -> Options {
    Options { dof: Dof::Rigid6, histogram, bins: cost.default_bins().min(64), ..Options::of(cost) }
}

fn align(moving: &Volume, options: &Options, start: Start) -> AffineTransform {
    register(&Cpu, &fixed(), moving, None, None, options, start, &mut ()).expect("a registration").transform
}

/// Gives an image the contrast of another modality: inverted and not linear.
fn another_modality(mut volume: Volume) -> Volume {
    volume.voxels.iter_mut().for_each(|value| *value = 500.0 + 400.0 * (*value / 700.0).cos());
    volume
}

#[test]
fn every_cost_finds_the_same_object() {
    let truth = affine([17.0, -25.0, 12.0], [1.0; 3], [21.0, -14.0, 9.0]);
    let moving = sampled(fixed_grid(), &truth);
    for cost in Cost::ALL {
        for histogram in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            if histogram == JointSampling::PartialVolume && !cost.has_joint_histogram() {
                continue;
            }
            let error = error_mm(&align(&moving, &options(cost, histogram), Start::CentreOfMass), &truth);
            let tolerance = if cost.has_joint_histogram() { ROUGH_TOLERANCE_MM } else { TOLERANCE_MM };
            assert!(error < tolerance, "{error} mm by {cost:?}, {histogram:?}");
        }
    }
}

#[test]
fn information_finds_another_modality() {
    let truth = affine([17.0, -25.0, 12.0], [1.0; 3], [21.0, -14.0, 9.0]);
    let moving = another_modality(sampled(fixed_grid(), &truth));
    for cost in [Cost::MutualInformation, Cost::NormalisedMutualInformation] {
        let error = error_mm(&align(&moving, &options(cost, JointSampling::Trilinear), Start::CentreOfMass), &truth);
        assert!(error < ROUGH_TOLERANCE_MM, "{error} mm by {cost:?}");
    }
    // The intensities of the two modalities never agree, so the least-squares cost is lowest without overlap.
    let squares = options(Cost::LeastSquares, JointSampling::Trilinear);
    let refused = register(&Cpu, &fixed(), &moving, None, None, &squares, Start::CentreOfMass, &mut ());
    assert!(matches!(refused, Err(Error::NoOverlap)), "{refused:?}");
}

/// Adds noise that is nowhere the same in two images of different seeds (by a xorshift generator).
fn noisy(mut volume: Volume, mut seed: u64) -> Volume {
    for value in &mut volume.voxels {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        *value += 40.0 * ((seed >> 40) as f32 / (1 << 23) as f32 - 1.0);
    }
    volume
}

#[test]
fn partial_volume_does_not_align_the_voxels_of_both_images() {
    let fixed = noisy(fixed(), 1);
    // Nearly half a voxel along each axis.
    let truth = affine([0.0; 3], [1.0; 3], [1.7, -1.8, 1.9]);
    let moving = noisy(sampled(fixed_grid(), &truth), 2);
    for cost in [Cost::MutualInformation, Cost::NormalisedMutualInformation] {
        let options = Options { search: Search::None, ..options(cost, JointSampling::PartialVolume) };
        for start in [AffineTransform::identity(), truth] {
            let start = Start::Transform(start);
            let found =
                register(&Cpu, &fixed, &moving, None, None, &options, start, &mut ()).expect("a registration");
            let error = error_mm(&found.transform, &truth);
            // On grids along the axes of the images, the errors are 2.6 to 3.1 mm, from the true transform too.
            assert!(error < 0.2, "{error} mm by {cost:?} from {start:?}");
        }
    }
}

#[test]
fn partial_volume_counts_no_voxel_outside_the_fixed_image() {
    // The fixed image is a part of the moving image, so that the oblique grid of a level has voxels that lie outside the
    // fixed image and inside the moving image.
    let moving = fixed();
    let [nx, ny, nz] = moving.grid.shape;
    let inside =
        |n: usize| [(n % nx, nx), (n / nx % ny, ny), (n / nx / ny, nz)].iter().all(|(i, n)| i / (n / 2) == 0);
    let voxels = (0..moving.voxels.len()).filter(|n| inside(*n)).map(|n| moving.voxels[n]).collect();
    let part = Volume { grid: Grid { shape: moving.grid.shape.map(|n| n / 2), ..moving.grid.clone() }, voxels };
    let everywhere = Volume::filled(part.grid.clone(), 1.0);
    for cost in [Cost::MutualInformation, Cost::NormalisedMutualInformation] {
        let options = options(cost, JointSampling::PartialVolume);
        let costs = [None, Some(&everywhere)].map(|weight| {
            let side = Fixed::new(&Cpu, &part, weight, &options).expect("a fixed image");
            side.costs(&Cpu, &moving, None, 4.0, &[AffineTransform::identity()]).expect("costs")[0]
        });
        assert!(costs[0] < 1.0 && costs[0] == costs[1], "{costs:?} by {cost}");
    }
}

#[test]
fn costs_are_those_of_the_search() {
    let truth = affine([4.0, -3.0, 5.0], [1.0; 3], [6.0, -4.0, 2.0]);
    let moving = sampled(fixed_grid(), &truth);
    let far = AffineTransform { translation: truth.translation.add_scalar(1e4), ..truth };
    for cost in Cost::ALL {
        let start = Start::Transform(truth);
        let options = Options { search: Search::None, ..options(cost, JointSampling::Trilinear) };
        let found = register(&Cpu, &fixed(), &moving, None, None, &options, start, &mut ()).expect("a registration");
        let transforms = [found.transform, truth, affine([14.0, -3.0, 5.0], [1.0; 3], [6.0, -4.0, 12.0]), far];
        let side = Fixed::new(&Cpu, &fixed(), None, &options).expect("a fixed side");
        let costs = side.costs(&Cpu, &moving, None, 4.0, &transforms).expect("costs");
        // The voxels of the test images have a size of 4 mm, so the finest level of the search is 4 mm, too.
        assert!((costs[0] - found.cost).abs() < 1e-9, "{} and {} by {cost:?}", costs[0], found.cost);
        assert!(costs[0] <= costs[1] + 1e-9 && costs[1] + 0.02 < costs[2], "{costs:?} by {cost:?}");
        assert_eq!(costs[3], 1.0, "{cost:?}");
    }
}
