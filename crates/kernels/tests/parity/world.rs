//! Test operands of the backend's operations: images with structure, noise, plateaus and empty parts; displacement
//! fields; and maps that lead out of the volume.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Rotation3, Vector3};

/// A set of test data, from which images, displacement fields and affine maps are made: shapes and spacing of the
/// volumes.
pub struct World {
    pub name: &'static str,
    pub shape: [usize; 3],
    pub other_shape: [usize; 3],
    pub spacing: [f64; 3],
}

impl World {
    /// All sets of test data: volumes of odd and even sizes, of sizes around those of the tiles (parts of a volume)
    /// that GPU kernels process, thin volumes, and anisotropic spacings.
    pub fn all() -> Vec<World> {
        let world = |name, shape, other_shape, spacing| World { name, shape, other_shape, spacing };
        vec![
            world("odd", [37, 29, 23], [31, 41, 19], [1.0, 1.0, 1.0]),
            world("anisotropic", [70, 45, 18], [40, 64, 33], [0.9, 0.9, 3.0]),
            world("whole tiles", [64, 32, 16], [32, 32, 32], [1.0, 1.0, 1.0]),
            world("one more", [65, 33, 17], [33, 33, 33], [1.0, 2.0, 1.5]),
            world("flat", [31, 26, 1], [25, 24, 2], [1.0, 1.0, 5.0]),
            world("a slice", [70, 61, 1], [80, 65, 1], [1.0, 1.0, 5.0]),
            world("a row", [41, 1, 1], [39, 3, 3], [1.0, 1.0, 1.0]),
            world("tiny", [5, 4, 3], [3, 4, 5], [1.0, 1.0, 1.0]),
            world("long", [19, 150, 60], [21, 90, 80], [1.0, 1.0, 1.0]),
        ]
    }

    /// Sets of test data with small volumes, for slow checkers of memory accesses.
    pub fn small() -> Vec<World> {
        World::all().into_iter().filter(|world| ["odd", "flat", "a slice", "tiny"].contains(&world.name)).collect()
    }

    /// A test image with values from 0 to 1: waves, noise, a plateau at 1 and an empty corner.
    pub fn image(shape: [usize; 3], seed: u32) -> Vec<f32> {
        let mut noise = Noise(seed);
        let phase = f64::from(seed);
        voxels(shape, |[x, y, z]| {
            let wave = (0.31 * x + phase).sin() * (0.23 * y).cos() + (0.41 * z + 0.11 * x).sin();
            let value = 0.5 + 0.25 * wave + 0.1 * noise.next();
            let empty = x + y + z < 0.3 * shape.iter().sum::<usize>() as f64;
            if empty { 0.0 } else { value.clamp(0.0, 1.0) as f32 }
        })
    }

    /// The test image inside a ball in the middle of the volume, and `background` around the ball. The diameter of the
    /// ball is a third of the longest axis of the volume.
    pub fn island(shape: [usize; 3], seed: u32, background: f32) -> Vec<f32> {
        let radius = shape.iter().copied().max().unwrap_or(0) as f64 / 6.0;
        let middle = shape.map(|n| (n as f64 - 1.0) / 2.0);
        let inside = voxels(shape, |at| {
            let squared: f64 = at.iter().zip(middle).map(|(at, middle)| (at - middle).powi(2)).sum();
            squared < radius * radius
        });
        let value = |(value, inside): (f32, bool)| if inside { value } else { background };
        World::image(shape, seed).into_iter().zip(inside).map(value).collect()
    }

    /// Test weights from 0 to 1. Part of the volume has weight 0, and half of the weights exceed 0.5.
    pub fn mask(shape: [usize; 3], seed: u32) -> Vec<f32> {
        let phase = f64::from(seed);
        voxels(shape, |[x, y, z]| (0.6 + (0.2 * x + phase).sin() * (0.17 * y + 0.2 * z).cos()).clamp(0.0, 1.0) as f32)
    }

    /// A smooth test field of displacements of up to about `amplitude` voxels, zero at the border.
    pub fn field(shape: [usize; 3], amplitude: f64, seed: u32) -> Vec<[f32; 3]> {
        let phase = f64::from(seed);
        voxels(shape, |at| {
            let window: f64 = (0..3)
                .filter(|axis| shape[*axis] > 1)
                .map(|axis| (std::f64::consts::PI * at[axis] / (shape[axis] as f64 - 1.0)).sin().max(0.0))
                .product();
            let [x, y, z] = at;
            [
                (amplitude * window * (0.21 * y + 0.1 * z + phase).sin()) as f32,
                (amplitude * window * (0.17 * x - 0.2 * z + 2.0 * phase).cos()) as f32,
                (amplitude * window * (0.15 * x + 0.12 * y - phase).sin()) as f32,
            ]
        })
    }

    /// An affine map of a slice onto another slice in the same plane, rotated by `angle`.
    pub fn plane_map(&self, angle: f64) -> AffineTransform {
        let mut map = self.map(0.0);
        map.matrix = Rotation3::from_euler_angles(0.0, 0.0, angle).into_inner() * map.matrix;
        map.matrix.row_mut(2).fill(0.0);
        map.translation.z = 0.0;
        map
    }

    /// An affine map from `shape` to `other_shape` with rotation, scale and shift. It maps part of the volume outside.
    pub fn map(&self, angle: f64) -> AffineTransform {
        let turn = Rotation3::from_euler_angles(angle, -0.7 * angle, 1.3 * angle).into_inner();
        let scale = Vector3::from_fn(|axis, _| self.other_shape[axis] as f64 / self.shape[axis] as f64);
        let matrix = turn * Matrix3::from_diagonal(&scale) * 1.07;
        let middle = |shape: [usize; 3]| Vector3::from_fn(|axis, _| (shape[axis] as f64 - 1.0) / 2.0);
        let shift = Vector3::new(0.37, -1.21, 0.83);
        AffineTransform { matrix, translation: middle(self.other_shape) - matrix * middle(self.shape) + shift }
    }
}

fn voxels<T>([nx, ny, nz]: [usize; 3], mut value: impl FnMut([f64; 3]) -> T) -> Vec<T> {
    let mut voxels = Vec::with_capacity(nx * ny * nz);
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                voxels.push(value([x as f64, y as f64, z as f64]));
            }
        }
    }
    voxels
}

/// Pseudo-random numbers; equal seeds give equal sequences on every machine.
pub struct Noise(pub u32);

impl Noise {
    /// The next pseudo-random number, from −1 to 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1 << 23) - 1.0
    }
}
