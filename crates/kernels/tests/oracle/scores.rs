use antsreg_core::jacobian::JacobianSummary;
use antsreg_core::{DisplacementField, Grid, Volume};
use antsreg_kernels::ops::{Fields, Memory, Similarity};
use antsreg_kernels::{Cpu, Error, InverseConsistency, apply};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use super::naive::{self, displaced, field_at};
use super::scene::{self, SHAPES, voxels};

/// Tolerance for coordinates in single precision and trilinear interpolation of vectors of up to 3 voxels.
const INTERPOLATION: f64 = 1e-4;
/// Tolerance of determinants: the rounding error of products of three numbers of at most 3 in single precision.
const DETERMINANTS: f64 = 1e-5;

/// The test masks: no mask, a mask with values around ½, and a mask without voxels.
fn masks(shape: [usize; 3]) -> [Option<Vec<f32>>; 3] {
    let mut weight = scene::weight(shape, 40);
    weight[1] = 0.5;
    [None, Some(weight), Some(vec![0.5; shape.iter().product()])]
}

fn counts(mask: &Option<Vec<f32>>, at: usize) -> bool {
    mask.as_ref().is_none_or(|mask| mask[at] > 0.5)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether two values are close to each other, or both are NaN.
fn agree(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() < tolerance || (found.is_nan() && expected.is_nan())
}

#[test]
fn inverse_consistency_is_the_distance_after_both() {
    for shape in SHAPES {
        let (first, then) = (scene::rough_field(shape, 2.0, 9), scene::rough_field(shape, 2.0, 10));
        let [u, v] = [&first, &then].map(|vectors| Cpu.upload_field(shape, vectors).unwrap());
        for mask in masks(shape) {
            let distances: Vec<f64> = voxels(shape)
                .zip(&first)
                .enumerate()
                .filter(|(at, _)| counts(&mask, *at))
                .map(|(_, (voxel, u))| {
                    let v = field_at(&then, shape, displaced(voxel, *u));
                    (0..3).map(|axis| (f64::from(u[axis]) + v[axis]).powi(2)).sum::<f64>().sqrt()
                })
                .collect();
            let image = mask.as_ref().map(|mask| Cpu.upload(shape, mask).unwrap());
            let InverseConsistency { voxels, mean_voxels, largest_voxels } =
                Cpu.inverse_consistency(&u, &v, image.as_ref()).unwrap();
            let largest = distances.iter().copied().fold(f64::NAN, f64::max);
            assert_eq!(voxels, distances.len() as u64, "shape {shape:?}");
            assert!(agree(mean_voxels, mean(&distances), INTERPOLATION), "shape {shape:?}: mean {mean_voxels}");
            assert!(agree(largest_voxels, largest, INTERPOLATION), "shape {shape:?}: largest {largest_voxels}");
        }
    }
}

#[test]
fn jacobian_summary_is_of_the_determinants_of_the_derivatives() {
    for shape in SHAPES {
        // The test field is so steep that it folds at some voxels.
        let vectors = scene::rough_field(shape, 0.8, 12);
        let components: [Vec<f32>; 3] = std::array::from_fn(|c| vectors.iter().map(|v| v[c]).collect());
        let field = Cpu.upload_field(shape, &vectors).unwrap();
        for mask in masks(shape) {
            let determinants: Vec<f64> = voxels(shape)
                .enumerate()
                .filter(|(at, _)| counts(&mask, *at))
                .map(|(_, voxel)| {
                    let rows = components.each_ref().map(|component| naive::gradient(component, shape, voxel));
                    (Matrix3::identity() + Matrix3::from_fn(|row, column| rows[row][column])).determinant()
                })
                .collect();
            let image = mask.as_ref().map(|mask| Cpu.upload(shape, mask).unwrap());
            let found = Cpu.jacobian_summary(&field, image.as_ref()).unwrap();
            let JacobianSummary {
                voxels,
                minimum,
                maximum,
                mean: average,
                folded,
                corner_minimum,
                corner_folded,
                ..
            } = found;
            let extreme = |of: fn(f64, f64) -> f64| determinants.iter().copied().fold(f64::NAN, of);
            let at_most = |limit: f64| determinants.iter().filter(|value| **value <= limit).count() as u64;
            assert_eq!(voxels, determinants.len() as u64);
            assert!(agree(minimum, extreme(f64::min), DETERMINANTS), "shape {shape:?}: {found:?}");
            assert!(agree(maximum, extreme(f64::max), DETERMINANTS), "shape {shape:?}: {found:?}");
            assert!(agree(average, mean(&determinants), DETERMINANTS), "shape {shape:?}: {found:?}");
            // If a determinant is close to zero, rounding decides its sign. So the number of folds may lie between
            // these limits.
            assert!((at_most(-DETERMINANTS)..=at_most(DETERMINANTS)).contains(&folded), "shape {shape:?}: {found:?}");
            assert!(voxels == 0 || folded > 0, "something should fold");
            let corners: Vec<f64> = naive::smallest_at_corners(&vectors, shape)
                .into_iter()
                .enumerate()
                .filter_map(|(at, smallest)| counts(&mask, at).then_some(smallest))
                .collect();
            let smallest = corners.iter().copied().fold(f64::NAN, f64::min);
            assert!(agree(corner_minimum, smallest, DETERMINANTS), "shape {shape:?}: {found:?}");
            let at_most = |limit: f64| corners.iter().filter(|value| **value <= limit).count() as u64;
            let possible = at_most(-DETERMINANTS)..=at_most(DETERMINANTS);
            assert!(possible.contains(&corner_folded) && corner_folded >= folded, "shape {shape:?}: {found:?}");
        }
    }
}

#[test]
fn what_is_no_number_counts_as_folded() {
    let shape = [5, 4, 3];
    let mut vectors = vec![[0.0; 3]; 60];
    vectors[0] = [f32::NAN; 3];
    let field = Cpu.upload_field(shape, &vectors).unwrap();
    let found = Cpu.jacobian_summary(&field, None).unwrap();
    // The displacement of one voxel is NaN. This affects the determinants of this voxel and of its three neighbours.
    assert_eq!((found.voxels, found.folded, found.minimum, found.maximum), (60, 4, 1.0, 1.0));
    assert_eq!((found.corner_folded, found.corner_minimum), (4, 1.0));
    assert!(found.mean.is_nan());
    let all = Cpu.upload_field(shape, &[[f32::NAN; 3]; 60]).unwrap();
    let found = Cpu.jacobian_summary(&all, None).unwrap();
    assert!(found.folded == 60 && found.minimum.is_nan() && found.maximum.is_nan());
}

/// Tests the statistics of Jacobian determinants and of the inverse consistency. For fields that are zero at their
/// border they must be the same in voxels and in world space, on oblique grids with unequal spacing.
#[test]
fn scores_are_those_of_world_space() {
    let grid = Grid {
        shape: SHAPES[0],
        spacing: Vector3::new(1.0, 0.7, 2.3),
        origin: Point3::new(-20.0, 15.0, 3.0),
        direction: *Rotation3::from_euler_angles(0.3, -0.2, 0.5).matrix(),
    };
    let shape = grid.shape;
    let vectors = [0.5, -0.5].map(|steepness| scene::smooth_field(shape, steepness));
    let to_world = grid.voxel_to_world().matrix;
    let [u, v] = vectors.each_ref().map(|vectors| {
        let in_mm = |vector: &[f32; 3]| (to_world * Vector3::from(vector.map(f64::from))).map(|c| c as f32).into();
        DisplacementField { grid: grid.clone(), vectors: vectors.iter().map(in_mm).collect() }
    });
    let [first, then] = vectors.each_ref().map(|vectors| Cpu.upload_field(shape, vectors).unwrap());
    for mask in masks(shape) {
        let image = mask.as_ref().map(|mask| Cpu.upload(shape, mask).unwrap());
        let volume = mask.map(|voxels| Volume { grid: grid.clone(), voxels });
        let found = Cpu.inverse_consistency(&first, &then, image.as_ref()).unwrap();
        let expected = apply::inverse_consistency(&u, &v, volume.as_ref()).unwrap();
        assert_eq!(found.voxels, expected.voxels);
        assert!(agree(found.mean_voxels, expected.mean_voxels, INTERPOLATION), "{found:?}, expected {expected:?}");
        assert!(agree(found.largest_voxels, expected.largest_voxels, INTERPOLATION), "{found:?}");
        assert!(found.voxels == 0 || found.largest_voxels > 0.1, "the fields should miss each other");
        let found = Cpu.jacobian_summary(&first, image.as_ref()).unwrap();
        let expected =
            JacobianSummary::of(&apply::jacobian(&u), &apply::smallest_at_corners(&u), volume.as_ref()).unwrap();
        assert_eq!((found.voxels, found.folded), (expected.voxels, expected.folded));
        let pairs =
            [(found.minimum, expected.minimum), (found.maximum, expected.maximum), (found.mean, expected.mean)];
        // The tolerance is the rounding error of vectors of up to 3 mm in single precision, divided by steps of 0.7 mm.
        assert!(pairs.iter().all(|(found, expected)| agree(*found, *expected, 1e-5)), "{pairs:?}");
    }
}

#[test]
fn correlation_is_pearsons() {
    for shape in SHAPES {
        // The test values are far from zero, where variances from sums of squares would lose digits.
        let values = [(50, 0.0), (51, 300.0)].map(|(seed, shift)| {
            scene::image(shape, seed).into_iter().map(|value| 10.0 * value + shift).collect::<Vec<f32>>()
        });
        let [first, second] = values.each_ref().map(|values| Cpu.upload(shape, values).unwrap());
        for mask in masks(shape) {
            let image = mask.as_ref().map(|mask| Cpu.upload(shape, mask).unwrap());
            let [a, b] = values.each_ref().map(|values| {
                let counted = values.iter().enumerate().filter(|(at, _)| counts(&mask, *at));
                counted.map(|(_, value)| f64::from(*value)).collect::<Vec<f64>>()
            });
            let means = [mean(&a), mean(&b)];
            let products: f64 = a.iter().zip(&b).map(|(a, b)| (a - means[0]) * (b - means[1])).sum();
            let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let expected = products / (squares(&a, means[0]) * squares(&b, means[1])).sqrt();
            let found = Cpu.correlation(&first, &second, image.as_ref()).unwrap();
            // The tolerance allows for lost digits: the mean is 100 times the standard deviation, so sums of squares
            // lose about 4 of 16 digits.
            assert!(agree(found, expected, 1e-10), "shape {shape:?}: {found}, expected {expected}");
            let alike = Cpu.correlation(&second, &second, image.as_ref()).unwrap();
            assert!(agree(alike, if a.is_empty() { f64::NAN } else { 1.0 }, 1e-10), "{alike}");
        }
        let constant = Cpu.upload(shape, &vec![0.1; shape.iter().product()]).unwrap();
        assert!(Cpu.correlation(&first, &constant, None).unwrap().is_nan());
    }
}

#[test]
fn shapes_must_agree() {
    let [a, b] = [[5, 4, 3], [4, 5, 3]].map(|shape| Cpu.field(shape).unwrap());
    let mask = Cpu.image([4, 5, 3]).unwrap();
    assert!(matches!(Cpu.inverse_consistency(&a, &b, None), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.inverse_consistency(&a, &a, Some(&mask)), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.jacobian_summary(&a, Some(&mask)), Err(Error::Shape { .. })));
    let image = Cpu.image([5, 4, 3]).unwrap();
    assert!(matches!(Cpu.correlation(&image, &mask, None), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.correlation(&image, &image, Some(&mask)), Err(Error::Shape { .. })));
}
