//! Tests of windowed sinc interpolation against its definition.

use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Memory, Warping};

use super::scene::{self, SHAPES, voxels};
use super::warped::Warped;

/// The function sin(πx)/(πx). It is 1 at x = 0 and 0 at all other integers.
fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) }
}

/// The interpolation weight at distance x: the sinc function times Lanczos' window, with ITK's width.
fn kernel(x: f64) -> f64 {
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}

#[test]
fn warp_sinc_is_the_sum_over_all_voxels_within_the_radius() {
    let warped = Warped::new();
    for shape in SHAPES.into_iter().chain([[6, 40, 2], [40, 2, 9]]) {
        let image = scene::image(shape, 6);
        let uploaded = Cpu.upload(shape, &image).unwrap();
        let warp = |warped: &Warped, out: &mut _| {
            Cpu.warp_sinc(&uploaded, &warped.field, &warped.map, out).unwrap();
        };
        // The tolerance allows for coordinates up to 70 with errors of 4e-6 voxel, and for tabulated weights with
        // errors of 4e-7. Values are at most 1.
        warped.check(shape, 5e-5, warp, |point| {
            let weights: [Vec<f64>; 3] =
                std::array::from_fn(|axis| (0..shape[axis]).map(|n| kernel(point[axis] - n as f64)).collect());
            let weight = |at: [usize; 3]| weights[0][at[0]] * weights[1][at[1]] * weights[2][at[2]];
            voxels(shape).zip(&image).map(|(at, value)| weight(at) * f64::from(*value)).sum()
        });
    }
}
