//! Reading through a windowed sinc, from its definition.

use antsreg_kernels::{Backend, Cpu};

use super::naive::{apply, displaced, within_half_a_voxel};
use super::scene::{self, SHAPES, voxels};

/// sin(πx)/(πx), 1 on its voxel and 0 on all others.
fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) }
}

/// Lanczos' window, as wide as ITK has it.
fn kernel(x: f64) -> f64 {
    if x.abs() < 3.0 { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}

#[test]
fn warp_sinc_is_the_sum_over_all_voxels_within_the_radius() {
    let map = scene::oblique_map();
    let grid = [35, 30, 9];
    let vectors = scene::rough_field(grid, 3.0, 4);
    let field = Cpu.upload_field(grid, &vectors).unwrap();
    for shape in SHAPES.into_iter().chain([[6, 40, 2], [40, 2, 9]]) {
        let image = scene::image(shape, 6);
        let mut out = Cpu.image(grid).unwrap();
        Cpu.warp_sinc(&Cpu.upload(shape, &image).unwrap(), &field, &map, &mut out).unwrap();
        let found = Cpu.download(&out).unwrap();
        let (mut compared, mut inside) = (0, 0);
        for (at, voxel) in voxels(grid).enumerate().step_by(7) {
            let point = apply(&map, displaced(voxel, vectors[at]));
            // Where rounding decides where the image ends, either answer is right.
            let ends = |axis: usize| {
                (point[axis] + 0.5).abs() < 1e-4 || (point[axis] - shape[axis] as f64 + 0.5).abs() < 1e-4
            };
            if (0..3).any(ends) {
                continue;
            }
            compared += 1;
            let expected: f64 = match within_half_a_voxel(shape, point) {
                true => voxels(shape)
                    .zip(&image)
                    .map(|(at, value)| {
                        let weight: f64 = (0..3).map(|axis| kernel(point[axis] - at[axis] as f64)).product();
                        weight * f64::from(*value)
                    })
                    .sum(),
                false => 0.0,
            };
            inside += usize::from(expected != 0.0);
            // Coordinates up to 70 are good to 4e-6 voxel, tabulated weights to 4e-7; values reach 1.
            let found = f64::from(found[at]);
            assert!((found - expected).abs() < 5e-5, "{found} for {expected} at {voxel:?} of {shape:?}");
        }
        assert!(compared > 1000 && inside > 3, "{inside} of {compared} inside {shape:?}");
    }
}
