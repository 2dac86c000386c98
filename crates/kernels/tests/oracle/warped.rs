//! Checks the resampling of an image through a displacement field and an oblique map, point by point, for any
//! interpolation.

use antsreg_core::AffineTransform;
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::Memory;

use super::naive::{apply, displaced, within_half_a_voxel};
use super::scene::{self, voxels};

/// Shape of the output grid.
const GRID: [usize; 3] = [35, 30, 9];

pub struct Warped {
    pub map: AffineTransform,
    pub field: <Cpu as Memory>::Field,
    vectors: Vec<[f32; 3]>,
}

impl Warped {
    pub fn new() -> Warped {
        let vectors = scene::rough_field(GRID, 3.0, 4);
        Warped { map: scene::oblique_map(), field: Cpu.upload_field(GRID, &vectors).unwrap(), vectors }
    }

    /// Checks the output of a resampling operation for an image of shape `shape`: it must be `value(point)` inside the
    /// image and 0 outside.
    pub fn check(
        &self,
        shape: [usize; 3],
        tolerance: f64,
        operation: impl FnOnce(&Warped, &mut <Cpu as Memory>::Image),
        value: impl Fn([f64; 3]) -> f64,
    ) {
        let mut out = Cpu.image(GRID).unwrap();
        operation(self, &mut out);
        let (mut compared, mut inside) = (0, 0);
        for ((voxel, found), u) in voxels(GRID).zip(Cpu.download(&out).unwrap()).zip(&self.vectors) {
            let point = apply(&self.map, displaced(voxel, *u));
            // A point is skipped if rounding decides which voxel is nearest, or whether the point is inside the image.
            if point.iter().any(|p| ((p - 0.5) - (p - 0.5).round()).abs() < 1e-4) {
                continue;
            }
            compared += 1;
            let expected = if within_half_a_voxel(shape, point) { value(point) } else { 0.0 };
            inside += usize::from(expected != 0.0);
            assert!(
                (f64::from(found) - expected).abs() < tolerance,
                "{found} for {expected} at {voxel:?} of {shape:?}"
            );
        }
        assert!(compared > voxels(GRID).count() * 9 / 10 && inside > 10, "{inside} of {compared} inside {shape:?}");
    }
}
