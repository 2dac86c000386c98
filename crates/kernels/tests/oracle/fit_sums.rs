//! Tests of the sums for the fit of a volume by functions (motion correction), against their definition.

use antsreg_core::AffineTransform;
use antsreg_kernels::apply::BSpline;
use antsreg_kernels::ops::{Memory, Similarity, Warping};
use antsreg_kernels::{Cpu, FitRule};
use nalgebra::{Rotation3, Vector3};

use super::naive;
use super::scene::{self, Random};

const SHAPE: [usize; 3] = [29, 33, 17];
/// Number of test points: more than the number of points that the backend sums in one chunk.
const COUNT: usize = 2500;

/// Test points: for each, its coordinates relative to the middle of a volume, in voxels, and the values there of the
/// functions that are fitted. Some points lie outside the volume.
fn points(functions: usize) -> Vec<([f64; 3], Vec<f64>)> {
    let mut random = Random::new(21);
    let single = |value: f64| f64::from(value as f32);
    (0..COUNT)
        .map(|_| {
            let at = SHAPE.map(|width| single(0.6 * width as f64 * random.signed()));
            (at, (0..functions).map(|_| single(random.signed())).collect())
        })
        .collect()
}

fn image(points: &[([f64; 3], Vec<f64>)], functions: usize) -> <Cpu as Memory>::Image {
    let mut rows: Vec<f32> = Vec::new();
    for axis in 0..3 {
        rows.extend(points.iter().map(|(at, _)| at[axis] as f32));
    }
    for function in 0..functions {
        rows.extend(points.iter().map(|(_, values)| values[function] as f32));
    }
    Cpu.upload([points.len(), 3 + functions, 1], &rows).unwrap()
}

#[test]
fn sums_are_what_their_definition_says() {
    let volumes: Vec<Vec<f32>> = (0..2).map(|seed| scene::image(SHAPE, 50 + seed)).collect();
    let uploaded: Vec<_> =
        volumes.iter().map(|voxels| Cpu.spline_coefficients(&Cpu.upload(SHAPE, voxels).unwrap()).unwrap()).collect();
    let splines: Vec<BSpline> = volumes.iter().map(|voxels| BSpline::through(SHAPE, voxels)).collect();
    let mut at: Vec<(usize, AffineTransform)> = (0..4)
        .map(|n| {
            let mut random = Random::new(95 + n);
            let turn = Rotation3::from_euler_angles(random.signed(), random.signed(), random.signed());
            let middle = Vector3::new(14.0, 16.0, 7.5 + 0.3 * n as f64);
            (n as usize % 2, AffineTransform { matrix: *turn.matrix(), translation: middle })
        })
        .collect();
    at.push((1, AffineTransform { translation: Vector3::new(0.0, f64::NAN, 0.0), ..AffineTransform::identity() }));
    at.push((0, AffineTransform { translation: Vector3::new(0.0, 1e4, 0.0), ..AffineTransform::identity() }));
    for (functions, margin) in [(8, [2, 1, 0]), (22, [0; 3]), (0, [1; 3])] {
        let rule = FitRule { margin, origin: 0.3, scale: 2.5 };
        let points = points(functions);
        let refs: Vec<_> = uploaded.iter().collect();
        let found = Cpu.fit_sums(&image(&points, functions), &refs, &rule, &at).unwrap();
        assert_eq!(found.len(), at.len());
        for ((volume, map), found) in at.iter().zip(&found) {
            let mut expected = (0.0, 0.0, vec![0.0; functions], vec![vec![0.0; functions]; functions]);
            for (position, values) in &points {
                let index = naive::apply(map, *position);
                let inside = (0..3).all(|axis| {
                    let far = (SHAPE[axis] - 1 - margin[axis]) as f64;
                    index[axis] >= margin[axis] as f64 && index[axis] <= far
                });
                if inside {
                    let value = 2.5 * (f64::from(splines[*volume].value(index)) - 0.3);
                    expected.0 += 1.0;
                    expected.1 += value * value;
                    (0..functions).for_each(|n| expected.2[n] += values[n] * value);
                } else {
                    for a in 0..functions {
                        (0..=a).for_each(|b| expected.3[a][b] += values[a] * values[b]);
                    }
                }
            }
            // The number of points inside the volume must be exactly as expected. No random point is so close to the
            // margin of the volume that rounding decides whether the point lies inside.
            assert_eq!(found.inside, expected.0);
            // The tolerance allows for errors of 1e-5 voxel in positions, with intensity slopes of about 1 per voxel,
            // in sums over up to 2500 values.
            let near = |found: f64, expected: f64| (found - expected).abs() < 2e-3;
            assert!(near(found.square, expected.1), "{} for {}", found.square, expected.1);
            assert!(found.with_value.iter().zip(&expected.2).all(|(found, expected)| near(*found, *expected)));
            let products = expected.3.iter().enumerate().flat_map(|(a, row)| row[..=a].iter());
            assert_eq!(found.outside.len(), functions * (functions + 1) / 2);
            assert!(found.outside.iter().zip(products).all(|(found, expected)| near(*found, *expected)));
            let far = !map.translation.y.is_finite() || map.translation.y > 1e3;
            assert_eq!(found.inside == 0.0, far);
        }
    }
}

#[test]
fn a_sum_does_not_depend_on_the_others_of_its_call() {
    let volume = Cpu.spline_coefficients(&Cpu.upload(SHAPE, &scene::image(SHAPE, 3)).unwrap()).unwrap();
    let points = image(&points(6), 6);
    let rule = FitRule { margin: [1; 3], origin: 0.0, scale: 1.0 };
    let at: Vec<_> = (0..5)
        .map(|n| {
            let translation = Vector3::new(14.0, 16.0 + 0.4 * f64::from(n), 8.0);
            (0, AffineTransform { translation, ..AffineTransform::identity() })
        })
        .collect();
    let together = Cpu.fit_sums(&points, &[&volume], &rule, &at).unwrap();
    for (at, together) in at.iter().zip(together) {
        assert_eq!(Cpu.fit_sums(&points, &[&volume], &rule, &[*at]).unwrap(), [together]);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let volume = Cpu.image(SHAPE).unwrap();
    let other = Cpu.image([4, 4, 4]).unwrap();
    let points = Cpu.image([10, 5, 1]).unwrap();
    let rule = FitRule { margin: [0; 3], origin: 0.0, scale: 1.0 };
    let still = AffineTransform::identity();
    assert!(Cpu.fit_sums(&points, &[&volume], &rule, &[(0, still)]).is_ok());
    assert!(Cpu.fit_sums(&points, &[&volume], &rule, &[(1, still)]).is_err());
    assert!(Cpu.fit_sums(&points, &[&volume, &other], &rule, &[(0, still)]).is_err());
    assert!(Cpu.fit_sums(&Cpu.image([10, 2, 1]).unwrap(), &[&volume], &rule, &[(0, still)]).is_err());
    assert!(Cpu.fit_sums(&Cpu.image([10, 68, 1]).unwrap(), &[&volume], &rule, &[(0, still)]).is_err());
}
