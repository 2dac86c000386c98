//! A small synthetic brain and a smooth displacement of it, for tests.

use antsreg_core::{DisplacementField, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Fields, Memory};
use antsreg_syn::Outcome;
use nalgebra::{Point3, Rotation3, Vector3};

/// An oblique test grid with a different spacing along each axis.
pub fn grid() -> Grid {
    Grid {
        shape: [44, 52, 40],
        spacing: Vector3::new(1.0, 1.1, 1.2),
        origin: Point3::new(-20.0, 15.0, 3.0),
        direction: *Rotation3::from_euler_angles(0.1, -0.2, 0.3).matrix(),
    }
}

/// Intensity of the test brain at `p`, in world mm relative to the centre of the grid: a ball with smooth structure
/// inside and zeros outside.
pub fn brain(p: Vector3<f64>) -> f32 {
    let r = p.norm() / 18.0;
    let structure = (0.9 * p.x).sin() * (0.7 * p.y + 0.4).cos() + (0.8 * p.z + 0.3 * p.x).sin();
    let edge = 1.0 / (1.0 + ((r - 1.0) * 20.0).exp());
    if r > 1.3 { 0.0 } else { (edge * (100.0 + 30.0 * structure)) as f32 }
}

/// A smooth test displacement of up to about 3 mm.
pub fn displacement(p: Vector3<f64>) -> Vector3<f64> {
    let decay = (-(p.norm() / 14.0).powi(2)).exp();
    Vector3::new((0.15 * p.y).sin(), (0.2 * p.z + 1.0).sin(), (0.18 * p.x - 0.5).cos()) * (2.0 * decay)
}

pub fn sampled(grid: &Grid, mut value: impl FnMut(Vector3<f64>) -> f32) -> Volume {
    let (map, centre) = (grid.voxel_to_world(), grid.centre());
    let [nx, ny, nz] = grid.shape;
    let mut voxels = Vec::with_capacity(grid.len());
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                voxels.push(value(map.apply(&Point3::new(i as f64, j as f64, k as f64)) - centre));
            }
        }
    }
    Volume { grid: grid.clone(), voxels }
}

/// Checks that the two warps are inverse to each other, also between voxels.
pub fn assert_inverse(outcome: &Outcome) {
    let voxels = |field: &DisplacementField| {
        let map = field.grid.world_to_voxel().matrix;
        let vectors: Vec<[f32; 3]> =
            field.vectors.iter().map(|u| (map * Vector3::from(*u).cast::<f64>()).cast::<f32>().into()).collect();
        Cpu.upload_field(field.grid.shape, &vectors).expect("a whole field")
    };
    let (warp, inverse) = (voxels(&outcome.warp), voxels(&outcome.inverse_warp));
    for (first, then) in [(&warp, &inverse), (&inverse, &warp)] {
        let error = Cpu.inverse_consistency(first, then, None).expect("one shape");
        assert!(error.mean_voxels < 0.03 && error.largest_voxels < 0.45, "{error:?}");
    }
}
