//! Tests of slices against two-dimensional definitions: bilinear interpolation, four neighbours, and weights that
//! rise from the border along two axes.

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{Cpu, JointParameters, JointSampling};
use nalgebra::{Matrix2, Matrix3, Rotation2, Vector2};

use super::scene::{self, Random};

const FIXED: [usize; 3] = [67, 41, 1];
const MOVING: [usize; 3] = [53, 61, 1];
/// Width of the strip at the border of the moving slice in which the weights of samples rise from 0 to 1, pixels: along
/// two axes, and 0 across the slice.
const EDGE: [f64; 3] = [2.0, 3.5, 0.0];
const FIXED_BINS: usize = 9;
const RANGE: (f32, f32) = (0.1, 0.9);

struct Scene {
    fixed: Vec<f32>,
    moving: Vec<f32>,
    weights: [Vec<f32>; 2],
}

fn scene() -> Scene {
    Scene {
        fixed: scene::image(FIXED, 151),
        moving: scene::image(MOVING, 152),
        weights: [scene::weight(FIXED, 153), scene::weight(MOVING, 154)],
    }
}

/// Two-dimensional affine maps with rotation, stretch and shear. Part of the slice is mapped outside.
fn plane_maps() -> Vec<(Matrix2<f64>, Vector2<f64>)> {
    (0..8)
        .map(|n| {
            let mut random = Random::new(160 + n);
            let stretch = Matrix2::new(0.9 + 0.2 * random.signed(), 0.2 * random.signed(), 0.0, 1.1);
            let matrix = Rotation2::new(3.0 * random.signed()).into_inner() * stretch;
            let centre = Vector2::new(26.0, 30.0) + 6.0 * Vector2::new(random.signed(), random.signed());
            (matrix, centre - matrix * Vector2::new(33.0, 20.0))
        })
        .collect()
}

/// A two-dimensional map in three dimensions. The third row is zero.
fn in_space((matrix, shift): &(Matrix2<f64>, Vector2<f64>)) -> AffineTransform {
    let mut linear = Matrix3::zeros();
    linear.fixed_view_mut::<2, 2>(0, 0).copy_from(matrix);
    // The third column of the matrix must have no effect, because the only index of the fixed slice along z is 0.
    linear[(0, 2)] = 17.0;
    linear[(2, 2)] = 1.0;
    AffineTransform { matrix: linear, translation: shift.push(0.0) }
}

/// The four pixels around a point, with their interpolation weights.
fn around(at: Vector2<f64>) -> [(usize, f64); 4] {
    let low = at.map(f64::floor);
    let share = at - low;
    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| {
        let [i, j] = [(low.x as usize + a).min(MOVING[0] - 1), (low.y as usize + b).min(MOVING[1] - 1)];
        let along = |part: f64, upper: usize| if upper == 1 { part } else { 1.0 - part };
        (i + MOVING[0] * j, along(share.x, a) * along(share.y, b))
    })
}

fn bilinear(image: &[f32], at: Vector2<f64>) -> f64 {
    around(at).into_iter().map(|(pixel, share)| share * f64::from(image[pixel])).sum()
}

/// The expected samples of a slice: fixed pixel, its position in the moving slice, and its weight.
fn samples(
    scene: &Scene,
    weighted: [bool; 2],
    (matrix, shift): &(Matrix2<f64>, Vector2<f64>),
) -> Vec<(usize, Vector2<f64>, f64)> {
    let mut samples = Vec::new();
    for pixel in 0..FIXED[0] * FIXED[1] {
        let at = matrix * Vector2::new((pixel % FIXED[0]) as f64, (pixel / FIXED[0]) as f64) + shift;
        let ramp = |axis: usize| {
            let distance = at[axis].min(MOVING[axis] as f64 - 1.0 - at[axis]);
            (distance / EDGE[axis]).clamp(0.0, 1.0)
        };
        let mut weight = ramp(0) * ramp(1);
        if weight > 0.0 {
            weight *= if weighted[0] { f64::from(scene.weights[0][pixel]) } else { 1.0 };
            weight *= if weighted[1] { bilinear(&scene.weights[1], at) } else { 1.0 };
            samples.push((pixel, at, weight));
        }
    }
    samples
}

fn share(value: f64) -> f64 {
    (value - f64::from(RANGE.0)) / f64::from(RANGE.1 - RANGE.0)
}

fn fixed_bin(scene: &Scene, pixel: usize) -> usize {
    let at = (FIXED_BINS as f64 * share(f64::from(scene.fixed[pixel]))).floor();
    at.clamp(0.0, FIXED_BINS as f64 - 1.0) as usize
}

/// The expected cost 1 − η, computed from the definition of the correlation ratio.
fn correlation_ratio(scene: &Scene, weighted: [bool; 2], map: &(Matrix2<f64>, Vector2<f64>)) -> f64 {
    let mut bins = vec![[0.0; 3]; FIXED_BINS];
    for (pixel, at, weight) in samples(scene, weighted, map) {
        let value = bilinear(&scene.moving, at);
        let sums = &mut bins[fixed_bin(scene, pixel)];
        [1.0, value, value * value].into_iter().zip(sums).for_each(|(term, sum)| *sum += weight * term);
    }
    let deviation = |[n, s, ss]: [f64; 3]| ss - s * s / n;
    let counted = bins.into_iter().filter(|bin| bin[0] > 2.0);
    let (within, all) = counted.fold((0.0, [0.0; 3]), |(within, all), bin| {
        (within + deviation(bin), std::array::from_fn(|part| all[part] + bin[part]))
    });
    within / deviation(all)
}

fn histogram(
    scene: &Scene,
    weighted: [bool; 2],
    map: &(Matrix2<f64>, Vector2<f64>),
    bins: usize,
    sampling: JointSampling,
) -> Vec<f64> {
    let top = bins as f64 - 1.0;
    let mut counts = vec![0.0; FIXED_BINS * bins];
    for (pixel, at, weight) in samples(scene, weighted, map) {
        let row = fixed_bin(scene, pixel) * bins;
        match sampling {
            JointSampling::Trilinear => {
                let position = (top * share(bilinear(&scene.moving, at))).clamp(0.0, top);
                let low = position.floor().min(top - 1.0);
                counts[row + low as usize] += weight * (1.0 - (position - low));
                counts[row + low as usize + 1] += weight * (position - low);
            }
            JointSampling::PartialVolume => {
                // The weights of the four pixels follow equations 12 to 15 of Sun 2010.
                for (pixel, part) in around(at) {
                    let bin = (bins as f64 * share(f64::from(scene.moving[pixel]))).floor().clamp(0.0, top);
                    counts[row + bin as usize] += weight * part;
                }
            }
        }
    }
    counts
}

#[test]
fn costs_of_slices_are_those_of_two_dimensions() {
    let (scene, plane_maps) = (scene(), plane_maps());
    let mut maps: Vec<AffineTransform> = plane_maps.iter().map(in_space).collect();
    // This map shifts the slice out of its plane, so there is no overlap.
    maps.push(AffineTransform { translation: plane_maps[0].1.push(0.25), ..maps[0] });
    maps.push(AffineTransform {
        matrix: {
            let mut tilted = maps[0].matrix;
            tilted[(2, 0)] = 1e-3;
            tilted
        },
        ..maps[0]
    });
    let [fixed, moving] = [Cpu.upload(FIXED, &scene.fixed).unwrap(), Cpu.upload(MOVING, &scene.moving).unwrap()];
    let images = [Cpu.upload(FIXED, &scene.weights[0]).unwrap(), Cpu.upload(MOVING, &scene.weights[1]).unwrap()];
    for weighted in [[false, false], [true, false], [false, true], [true, true]] {
        let given = [0, 1].map(|side| weighted[side].then_some(&images[side]));
        let sorted = Cpu.bin_fixed(&fixed, given[0], RANGE, FIXED_BINS).unwrap();
        let costs = Cpu.correlation_ratio(&sorted, &moving, given[1], EDGE, &maps).unwrap();
        for (map, cost) in plane_maps.iter().zip(&costs) {
            let expected = correlation_ratio(&scene, weighted, map);
            // The tolerance allows for positions in single precision with errors of 1e-5 pixel, and for intensity
            // slopes of up to 1.
            assert!((cost - expected).abs() < 5e-5, "{cost} for {expected}: {weighted:?} {map:?}");
        }
        assert_eq!(costs[plane_maps.len()..], [1.0, 1.0], "off the slice");
        // Here the weights of samples also rise from 0 at the border along the third axis. A slice has a single pixel
        // there, so every pixel is at the border and has weight 0.
        let bordered = Cpu.correlation_ratio(&sorted, &moving, given[1], [2.0, 3.5, 1.0], &maps).unwrap();
        assert!(bordered.iter().all(|cost| *cost == 1.0), "{bordered:?}");

        let moments = Cpu.moments(&fixed, &moving, given, [RANGE; 2], EDGE, &maps).unwrap();
        for (map, found) in plane_maps.iter().zip(&moments) {
            let all = samples(&scene, weighted, map);
            let weight: f64 = all.iter().map(|(.., weight)| weight).sum();
            let product = |(pixel, at, weight): &(usize, Vector2<f64>, f64)| {
                weight * share(f64::from(scene.fixed[*pixel])) * share(bilinear(&scene.moving, *at))
            };
            let expected: f64 = all.iter().map(product).sum();
            assert!((found.weight - weight).abs() < 1e-5 * weight + 1e-3, "{} for {weight}", found.weight);
            assert!((found.fixed_moving - expected).abs() < 3e-5 * weight, "{} for {expected}", found.fixed_moving);
        }
    }
}

#[test]
fn joint_histograms_of_slices_are_those_of_two_dimensions() {
    let (scene, plane_maps) = (scene(), plane_maps());
    let maps: Vec<AffineTransform> = plane_maps.iter().map(in_space).collect();
    let [fixed, moving] = [Cpu.upload(FIXED, &scene.fixed).unwrap(), Cpu.upload(MOVING, &scene.moving).unwrap()];
    let images = [Cpu.upload(FIXED, &scene.weights[0]).unwrap(), Cpu.upload(MOVING, &scene.weights[1]).unwrap()];
    let unit = f64::from(JointParameters::UNIT);
    for sampling in [JointSampling::Trilinear, JointSampling::PartialVolume] {
        for (bins, weighted) in [(16, [false, false]), (50, [true, true])] {
            let given = [0, 1].map(|side| weighted[side].then_some(&images[side]));
            let sorted = Cpu.bin_fixed(&fixed, given[0], RANGE, FIXED_BINS).unwrap();
            let parameters = JointParameters { sampling, bins, low_high: RANGE };
            let entropies = Cpu.joint_entropies(&sorted, &moving, given[1], EDGE, &parameters, &maps).unwrap();
            for ((plane_map, map), found) in plane_maps.iter().zip(&maps).zip(&entropies) {
                let counts = Cpu.joint_histogram(&sorted, &moving, given[1], EDGE, &parameters, map).unwrap();
                let expected = histogram(&scene, weighted, plane_map, bins, sampling);
                let total: f64 = expected.iter().sum();
                let off: f64 =
                    counts.iter().zip(&expected).map(|(count, wanted)| (*count as f64 / unit - wanted).abs()).sum();
                // The tolerance of joint histograms is the same as for volumes: positions and values are in single
                // precision, and parts of samples are rounded to integer units.
                let allowed = 3e-4 * total + (FIXED[0] * FIXED[1]) as f64 / unit;
                assert!(total > 100.0 && off <= allowed, "{off} of {total}: {sampling:?} {bins} {weighted:?}");
                let joint = -expected
                    .iter()
                    .filter(|weight| **weight > 0.0)
                    .map(|weight| weight / total * (weight / total).ln())
                    .sum::<f64>();
                assert!((found.joint - joint).abs() < 1e-3, "{} for {joint}", found.joint);
            }
        }
    }
}
