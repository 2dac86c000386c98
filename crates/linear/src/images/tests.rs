//! Tests of images on the device and of their resolution levels.

use antsreg_kernels::Cpu;
use antsreg_kernels::ops::Memory;
use nalgebra::Vector3;

use super::*;
use crate::grids::tests::grid;

#[test]
fn blur_leaves_detail_of_the_level() {
    let sigma = sigma_voxels(&grid(), 2.0);
    assert!((sigma[0] * FWHM - 3.0f64.sqrt()).abs() < 1e-9, "variances of blur and voxel add up to the level's");
    assert_eq!(sigma[2], 0.0);
    let (sigma, spacing) = (sigma_voxels(&grid(), 8.0), grid().spacing);
    for axis in 0..3 {
        let blur_mm = sigma[axis] * spacing[axis] * FWHM;
        assert!((blur_mm.hypot(spacing[axis]) - 8.0).abs() < 1e-9, "{blur_mm} mm along axis {axis}");
    }
}

#[test]
fn the_edge_is_as_wide_as_a_voxel_of_the_level() {
    let near = |found: [f64; 3], expected: [f64; 3]| (0..3).all(|i| (found[i] - expected[i]).abs() < 1e-12);
    assert!(near(edge_voxels(&grid(), 2.7), [2.7, 3.0, 0.9]));
    assert!(near(edge_voxels(&Grid { shape: [31, 40, 1], ..grid() }, 2.7), [2.7, 3.0, 0.0]));
}

#[test]
fn planes_may_be_as_far_apart_as_the_limit() {
    let flat = Grid::axis_aligned([31, 40, 1], [1.0; 3]);
    let tilted = |degrees: f64| {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        Grid { direction: Matrix3::new(cosine, 0.0, sine, 0.0, 1.0, 0.0, -sine, 0.0, cosine), ..flat.clone() }
    };
    assert!(check_planes(&flat, &tilted(20.0)).is_ok());
    assert!(matches!(check_planes(&flat, &tilted(20.1)), Err(Error::Planes { .. })));
}

#[test]
fn the_part_of_a_weight_that_counts_is_the_box_around_its_positive_voxels() {
    let mut weight = Volume::filled(grid(), 0.0);
    for [i, j, k] in [[2, 5, 4], [6, 3, 4]] {
        weight.voxels[i + 31 * (j + 40 * k)] = 0.5;
    }
    let part = positive_part(&weight);
    assert_eq!((part.shape, part.spacing, part.direction), ([5, 3, 1], grid().spacing, grid().direction));
    let expected = grid().voxel_to_world().apply(&Point3::new(2.0, 3.0, 4.0));
    assert!((part.origin - expected).norm() < 1e-9, "{}", part.origin);
}

#[test]
fn a_weight_may_leave_as_many_voxels_as_there_are_bins() {
    let options = Options { bins: 7, ..Options::default() };
    let checked = |positive: usize| {
        let mut weight = Volume::filled(grid(), 0.0);
        weight.voxels[..positive].fill(1.0);
        check_weight(Side::Fixed, &grid(), &weight, &options)
    };
    assert!(checked(7).is_ok());
    assert!(matches!(checked(6), Err(Error::FewVoxels { found: 6, bins: 7, .. })));
}

#[test]
fn only_weights_above_one_are_scaled_and_only_for_joint_histograms() {
    let uploaded = |most: f32, cost| {
        let voxels = (0..8).map(|n| most * n as f32 / 7.0).collect();
        let weight = Volume { grid: Grid::axis_aligned([2; 3], [1.0; 3]), voxels };
        let image = upload_weight(&Cpu, &weight, cost).expect("an image");
        Cpu.download(&image).expect("voxels")[7]
    };
    for (most, cost, expected) in [
        (4.0, Cost::MutualInformation, 1.0),
        (4.0, Cost::NormalisedMutualInformation, 1.0),
        (0.5, Cost::MutualInformation, 0.5),
        (4.0, Cost::CorrelationRatio, 4.0),
        (0.5, Cost::LeastSquares, 0.5),
    ] {
        assert_eq!(uploaded(most, cost), expected, "{most} {cost}");
    }
}

/// A test image with two bright balls on a background of 100. One ball is at (60, 60, 60) mm, the other at
/// (20, 60, 60) mm.
fn balls() -> Volume {
    let grid = Grid::axis_aligned([40; 3], [2.0; 3]);
    let at = |n: usize| Vector3::from([n % 40, n / 40 % 40, n / 1600].map(|index| 2.0 * index as f64));
    let near = |n: usize, x: f64| (at(n) - Vector3::new(x, 60.0, 60.0)).norm() < 10.0;
    let voxels = (0..grid.len()).map(|n| if near(n, 60.0) || near(n, 20.0) { 200.0 } else { 100.0 }).collect();
    Volume { grid, voxels }
}

#[test]
fn the_mass_is_what_exceeds_the_background_times_the_weight() {
    let image = balls();
    let options = Options { robust_shares: [0.0, 1.0], ..Options::default() };
    let centre = |weight: Option<&Volume>| {
        let source = Source::new(&Cpu, Side::Moving, &Input::from(&image), weight, &options).expect("an image");
        source.pose(&Cpu, 4.0).expect("a pose").centre
    };
    assert!((centre(None) - Point3::new(40.0, 60.0, 60.0)).norm() < 0.2, "{}", centre(None));
    let right = (0..image.grid.len()).map(|n| f32::from(u8::from(n % 40 >= 20))).collect();
    let weight = Volume { voxels: right, ..image.clone() };
    let found = centre(Some(&weight));
    assert!((found - Point3::new(60.0, 60.0, 60.0)).norm() < 0.2, "{found}");
}

#[test]
fn intensities_are_sorted_into_bins_for_costs_that_have_bins() {
    let (image, options) = (balls(), Options::default());
    let source = Source::new(&Cpu, Side::Fixed, &Input::from(&image), None, &options).expect("an image");
    for cost in Cost::ALL {
        let level = source.fixed_level(&Cpu, 8.0, &Options::of(cost)).expect("a level");
        assert_eq!(matches!(level.values, FixedValues::Binned(..)), cost.has_bins(), "{cost}");
    }
}

#[test]
fn an_oblique_level_keeps_the_detail_of_the_image() {
    // Waves of six voxels. On the oblique grid, linear interpolation would leave about nine tenths of their height.
    let grid = Grid::axis_aligned([48; 3], [1.0; 3]);
    let wave = |at: f64| (at * std::f64::consts::TAU / 6.0).sin();
    let voxels = (0..grid.len()).map(|n| (100.0 * wave((n % 48) as f64)) as f32).collect();
    let image = Volume { grid, voxels };
    let options = Options { robust_shares: [0.0, 1.0], ..Options::of(Cost::MutualInformation) };
    let source = Source::new(&Cpu, Side::Fixed, &Input::from(&image), None, &options).expect("an image");
    let oblique = grids::of_level(&image.grid, 1.0, &options);
    let found = Cpu.download(&source.splined(&Cpu, &oblique, 1.0).expect("a level")).expect("voxels");
    let to_image = image.grid.world_to_voxel().after(&oblique.voxel_to_world());
    let [nx, ny, _] = oblique.shape;
    let mut compared = 0;
    for (n, found) in found.iter().enumerate() {
        let at = to_image.apply(&Point3::from([n % nx, n / nx % ny, n / (nx * ny)].map(|index| index as f64)));
        // Near the border, the image is mirrored.
        if at.iter().all(|index| (5.0..42.0).contains(index)) {
            assert!((f64::from(*found) - 100.0 * wave(at.x)).abs() < 1.0, "{found} at {at}");
            compared += 1;
        }
    }
    assert!(compared > 40_000, "{compared} voxels");
}
