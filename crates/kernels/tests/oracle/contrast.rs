//! Tests of the operation that computes the contrast across a surface, against its definition.

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{ContrastRule, Cpu};
use nalgebra::{Matrix3, Rotation3, Vector3};

use super::naive::{self, trilinear};
use super::scene::{self, Random};

const MOVING: [usize; 3] = [29, 33, 17];
/// Number of test points on the surface: more than the number of points that the backend sums in one chunk.
const COUNT: usize = 2500;

/// Test points on a surface: for each point, the sampling positions on both sides (mm from the middle of the image) and
/// the weight.
fn points() -> Vec<([f64; 3], [f64; 3], f64)> {
    let mut random = Random::new(11);
    (0..COUNT)
        .map(|_| {
            let inner = [30.0, 34.0, 18.0].map(|width| 0.6 * width * random.signed());
            (inner, inner.map(|at| at + 2.0 * random.signed()), random.next())
        })
        .collect()
}

fn image(points: &[([f64; 3], [f64; 3], f64)]) -> <Cpu as Memory>::Image {
    let mut rows: Vec<f32> = Vec::new();
    for axis in 0..3 {
        rows.extend(points.iter().map(|(inner, ..)| inner[axis] as f32));
    }
    for axis in 0..3 {
        rows.extend(points.iter().map(|(_, outer, _)| outer[axis] as f32));
    }
    rows.extend(points.iter().map(|(.., weight)| *weight as f32));
    Cpu.upload([points.len(), ContrastRule::ROWS, 1], &rows).unwrap()
}

/// Expected weight of a position in voxels: the product over the axes of the distance from the border, limited to 1; 0
/// outside the image.
fn ramp(at: [f64; 3]) -> f64 {
    (0..3).map(|axis| at[axis].min(MOVING[axis] as f64 - 1.0 - at[axis]).clamp(0.0, 1.0)).product()
}

#[test]
fn contrasts_are_what_their_definition_says() {
    let moving = scene::image(MOVING, 92);
    let points = points();
    let (surface, image) = (image(&points), Cpu.upload(MOVING, &moving).unwrap());
    let mut maps: Vec<AffineTransform> = (0..4)
        .map(|n| {
            let mut random = Random::new(95 + n);
            let turn = Rotation3::from_euler_angles(random.signed(), random.signed(), random.signed());
            AffineTransform { matrix: *turn.matrix(), translation: Vector3::new(14.0, 16.0, 8.0 + n as f64) }
        })
        .collect();
    maps.push(AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(0.0, f64::NAN, 0.0) });
    maps.push(AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(0.0, 1e4, 0.0) });
    for (slope, offset, least) in [(-0.5, 0.0, 0.2), (0.05, -10.0, 0.0)] {
        let rule = ContrastRule { slope, offset, least };
        let found = Cpu.contrast(&surface, &image, &rule, &maps).unwrap();
        assert_eq!(found.len(), maps.len());
        for (map, found) in maps.iter().zip(&found) {
            let mut expected = [0.0; 3];
            for (inner, outer, weight) in &points {
                let sides = [inner, outer].map(|at| naive::apply(map, *at));
                let weight = weight * ramp(sides[0]) * ramp(sides[1]);
                if sides.iter().flatten().any(|index| index.is_nan()) || weight == 0.0 {
                    continue;
                }
                let [within, beyond] = sides.map(|at| trilinear(&moving, MOVING, at));
                let mean = (within + beyond) / 2.0;
                if mean > f64::from(least) {
                    let contrast = 100.0 * (beyond - within) / mean - f64::from(offset);
                    let slope = f64::from(slope);
                    let terms = [1.0, (slope * contrast).tanh(), (slope * contrast.abs()).tanh()];
                    expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
                }
            }
            for (found, expected) in [found.weight, found.signed, found.unsigned].into_iter().zip(expected) {
                // The tolerance allows for errors of 1e-5 voxel in positions. If the image is dark on both sides of the
                // surface, such an error changes the point's term of the sums by 1e-2 for a slope of 0.5. A point whose
                // mean intensity is close to the limit may count or not.
                assert!((found - expected).abs() <= 2e-4 * COUNT as f64, "{found} for {expected}, {slope}");
            }
            let outside = !map.translation.y.is_finite() || map.translation.y > 1e3;
            assert_eq!(found.weight == 0.0, outside);
        }
    }
}

#[test]
fn points_of_another_layout_are_refused() {
    let image = Cpu.image(MOVING).unwrap();
    let rule = ContrastRule { slope: -0.5, offset: 0.0, least: 0.0 };
    assert!(Cpu.contrast(&image, &image, &rule, &[AffineTransform::identity()]).is_err());
}
