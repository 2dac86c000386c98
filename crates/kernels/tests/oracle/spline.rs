use antsreg_kernels::ops::{Memory, Warping};
use antsreg_kernels::{Cpu, Error};
use nalgebra::{DMatrix, DVector};

use super::naive::index;
use super::scene::{self, SHAPES, voxels};
use super::warped::Warped;
use super::worst;

/// Shapes of test volumes: with axes of one and two voxels, and with axes longer than the part of a line on which its
/// first spline coefficient depends.
const THIN: [[usize; 3]; 5] = [[1, 9, 2], [2, 1, 40], [40, 2, 1], [7, 1, 1], [1, 1, 1]];

/// The centred cubic B-spline function.
fn beta(x: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => 2.0 / 3.0 - x * x + x * x * x / 2.0,
        x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
        _ => 0.0,
    }
}

/// Index of voxel `k` on an axis that is mirrored repeatedly about its first and last voxels.
fn mirror(k: i64, length: usize) -> usize {
    let period = (2 * (length as i64 - 1)).max(1);
    let k = k.rem_euclid(period);
    k.min(period - k).min(length as i64 - 1) as usize
}

/// The expected coefficients: solves, one axis after the other, for the spline that has the image's values at the
/// voxels.
fn coefficients(image: &[f32], shape: [usize; 3]) -> Vec<f64> {
    let mut values: Vec<f64> = image.iter().copied().map(f64::from).collect();
    for axis in 0..3 {
        let length = shape[axis];
        let mut basis = DMatrix::zeros(length, length);
        for at in 0..length {
            for k in at as i64 - 1..=at as i64 + 1 {
                basis[(at, mirror(k, length))] += beta(at as f64 - k as f64);
            }
        }
        let basis = basis.lu();
        for start in voxels(shape).filter(|voxel| voxel[axis] == 0) {
            let on_line = |k: usize| {
                let mut voxel = start;
                voxel[axis] = k;
                index(shape, voxel)
            };
            let line = DVector::from_fn(length, |k, _| values[on_line(k)]);
            let solved = basis.solve(&line).expect("the basis is regular");
            (0..length).for_each(|k| values[on_line(k)] = solved[k]);
        }
    }
    values
}

/// The value of a spline at a point: the sum of all B-splines that are not zero there.
fn spline(coefficients: &[f64], shape: [usize; 3], point: [f64; 3]) -> f64 {
    let near = |axis: usize| (point[axis].floor() as i64 - 1..).take(4);
    let mut sum = 0.0;
    for k in near(2) {
        for j in near(1) {
            for i in near(0) {
                let at = [i, j, k];
                let weight: f64 = (0..3).map(|axis| beta(point[axis] - at[axis] as f64)).product();
                sum += weight * coefficients[index(shape, std::array::from_fn(|axis| mirror(at[axis], shape[axis])))];
            }
        }
    }
    sum
}

#[test]
fn coefficients_are_those_of_the_spline_through_the_voxels() {
    for shape in SHAPES.into_iter().chain(THIN) {
        let image = scene::image(shape, 5);
        let found = Cpu.spline_coefficients(&Cpu.upload(shape, &image).unwrap()).unwrap();
        // The tolerance allows for three recursions. The coefficients are up to 27 times as large as the values, which
        // are at most 1.
        let worst = worst(&Cpu.download(&found).unwrap(), coefficients(&image, shape));
        assert!(worst < 2e-5, "{worst} in shape {shape:?}");
    }
}

#[test]
fn warp_spline_goes_through_the_field_first() {
    let warped = Warped::new();
    for shape in SHAPES.into_iter().chain([[6, 40, 2], [40, 2, 9]]) {
        let image = scene::image(shape, 6);
        let found = Cpu.spline_coefficients(&Cpu.upload(shape, &image).unwrap()).unwrap();
        let exact = coefficients(&image, shape);
        let warp = |warped: &Warped, out: &mut _| {
            Cpu.warp_spline(&found, &warped.field, &warped.map, out).unwrap();
        };
        // The tolerance allows for coordinates up to 70 with errors of 4e-6 voxel, and for coefficients with errors of
        // 2e-5.
        warped.check(shape, 5e-5, warp, |point| spline(&exact, shape, point));
    }
}

#[test]
fn voxels_keep_their_values() {
    for shape in SHAPES.into_iter().chain(THIN) {
        let image = scene::image(shape, 7);
        let found = Cpu.spline_coefficients(&Cpu.upload(shape, &image).unwrap()).unwrap();
        let mut out = Cpu.image(shape).unwrap();
        Cpu.warp_spline(&found, &Cpu.field(shape).unwrap(), &antsreg_core::AffineTransform::identity(), &mut out)
            .unwrap();
        // At voxel centres the spline has the values of the image. The tolerance allows for rounding errors of its
        // coefficients.
        let worst = worst(&Cpu.download(&out).unwrap(), image.into_iter().map(f64::from));
        assert!(worst < 1e-5, "{worst} in shape {shape:?}");
    }
}

#[test]
fn a_field_of_another_shape_is_refused() {
    let (coefficients, field) = (Cpu.image([4, 5, 6]).unwrap(), Cpu.field([4, 5, 6]).unwrap());
    let mut out = Cpu.image([5, 4, 6]).unwrap();
    let error = Cpu.warp_spline(&coefficients, &field, &scene::oblique_map(), &mut out).unwrap_err();
    assert!(matches!(error, Error::Shape { expected: [4, 5, 6], found: [5, 4, 6], .. }), "{error}");
}
