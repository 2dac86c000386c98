//! Tests of the moments of intensity pairs (sums, squares and products) against their definition.

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{Cpu, Moments};
use nalgebra::{Matrix3, Rotation3, Vector3};

use super::naive::{self, trilinear};
use super::scene::{self, Random};

const FIXED: [usize; 3] = [67, 21, 13];
const MOVING: [usize; 3] = [29, 33, 17];
const RANGES: [(f32, f32); 2] = [(0.2, 0.7), (-1.0, 1.5)];

fn parts(moments: &Moments) -> [f64; 6] {
    let Moments { weight, fixed, moving, fixed_fixed, moving_moving, fixed_moving } = *moments;
    [weight, fixed, moving, fixed_fixed, moving_moving, fixed_moving]
}

#[test]
fn moments_are_what_their_definition_says() {
    let (fixed, moving) = (scene::image(FIXED, 91), scene::image(MOVING, 92));
    let weight = |shape: [usize; 3], seed| -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..shape.iter().product()).map(|_| (3.0 * random.next() - 1.0).max(0.0) as f32).collect()
    };
    let weights = [weight(FIXED, 93), weight(MOVING, 94)];
    let mut maps: Vec<AffineTransform> = (0..5)
        .map(|n| {
            let mut random = Random::new(95 + n);
            let turn = Rotation3::from_euler_angles(random.signed(), random.signed(), 3.0 * random.signed());
            let matrix = turn.matrix() * Matrix3::from_diagonal(&Vector3::new(0.5, 1.1, 1.3));
            AffineTransform {
                matrix,
                translation: Vector3::new(14.0, 16.0, 8.0) - matrix * Vector3::new(33.0, 10.0, 6.0),
            }
        })
        .collect();
    maps.push(AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(0.0, f64::NAN, 0.0) });
    let images = [Cpu.upload(FIXED, &fixed).unwrap(), Cpu.upload(MOVING, &moving).unwrap()];
    let weight_images = [Cpu.upload(FIXED, &weights[0]).unwrap(), Cpu.upload(MOVING, &weights[1]).unwrap()];
    for weighted in [[false, false], [true, false], [false, true], [true, true]] {
        for edge in [[0.0; 3], [1.0, 2.5, 0.7], [40.0, 1.0, 1.0]] {
            let given = [0, 1].map(|side| weighted[side].then_some(&weight_images[side]));
            let found = Cpu.moments(&images[0], &images[1], given, RANGES, edge, &maps).unwrap();
            assert_eq!(found.len(), maps.len());
            for (map, found) in maps.iter().zip(&found) {
                let [own, other] = [0, 1].map(|side| weighted[side].then_some(weights[side].as_slice()));
                let mut expected = [0.0; 6];
                // If the affine map contains NaN, all samples of the moving image have weight 0.
                let usable = map.translation.iter().all(|v| v.is_finite());
                let samples = if usable { naive::samples(FIXED, own, MOVING, other, edge, map) } else { Vec::new() };
                for sample in samples {
                    let share =
                        |value: f64, (low, high): (f32, f32)| (value - f64::from(low)) / f64::from(high - low);
                    let x = share(f64::from(fixed[sample.at]), RANGES[0]);
                    let y = share(trilinear(&moving, MOVING, sample.point), RANGES[1]);
                    let terms = [1.0, x, y, x * x, y * y, x * y];
                    expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += sample.weight * term);
                }
                for (found, expected) in parts(found).into_iter().zip(expected) {
                    // The tolerance allows for errors of 1e-5 voxel in positions, and for sums of 64 terms in single
                    // precision. A sample at the border may be inside or outside.
                    let allowed = 1e-5 * expected.abs() + if edge == [0.0; 3] { 0.1 } else { 1e-3 };
                    assert!((found - expected).abs() <= allowed, "{found} for {expected}: {weighted:?} {edge:?}");
                }
            }
        }
    }
}

#[test]
fn at_the_border_there_are_no_samples() {
    // Every voxel of a volume with an axis of one voxel is at its border, where weights begin to rise from 0.
    for shape in [[1, 9, 8], [9, 1, 8], [9, 8, 1]] {
        let image = Cpu.upload(shape, &scene::image(shape, 99)).unwrap();
        let map = [AffineTransform::identity()];
        let found = Cpu.moments(&image, &image, [None; 2], [(0.0, 1.0); 2], [1.0; 3], &map).unwrap();
        assert_eq!(found, [Moments::default()]);
    }
}

#[test]
fn slabs_add_up_to_the_volume() {
    // The backend divides this volume into three slabs, of eight, eight and four slices.
    let shape = [64, 64, 20];
    let (fixed, moving) = (scene::image(shape, 97), scene::image(shape, 98));
    let images = [&fixed, &moving].map(|voxels| Cpu.upload(shape, voxels).unwrap());
    let shifted = AffineTransform { translation: Vector3::new(0.3, 0.0, 0.4), ..AffineTransform::identity() };
    let maps = [AffineTransform::identity(), shifted];
    let found = Cpu.moments(&images[0], &images[1], [None; 2], [(0.0, 1.0); 2], [0.0; 3], &maps).unwrap();
    assert_eq!(found.len(), 2);
    for (map, found) in maps.iter().zip(&found) {
        let mut expected = [0.0; 6];
        for sample in naive::samples(shape, None, shape, None, [0.0; 3], map) {
            let (x, y) = (f64::from(fixed[sample.at]), trilinear(&moving, shape, sample.point));
            let terms = [1.0, x, y, x * x, y * y, x * y];
            expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        for (found, expected) in parts(found).into_iter().zip(expected) {
            // The tolerance allows for sums of 64 terms in single precision.
            assert!((found - expected).abs() <= 1e-5 * expected, "{found} for {expected}");
        }
    }
}
