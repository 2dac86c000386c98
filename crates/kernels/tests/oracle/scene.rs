//! Small test volumes and fields: odd and flat shapes, smooth and rough contents, and fields that move points out of
//! the volume.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Rotation3, Vector3};

/// Shapes of test volumes. They reveal swapped axes and errors in the last elements of vector loops. Some volumes are
/// larger than one of the tiles (parts of a volume) that a backend processes one by one. One shape is a slice.
pub const SHAPES: [[usize; 3]; 4] = [[37, 41, 23], [70, 9, 5], [5, 67, 3], [33, 18, 1]];

/// A small generator of pseudo-random numbers. Tests need the same numbers everywhere; the quality of the numbers is
/// not important.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next pseudo-random number, uniform from 0 to 1.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next pseudo-random number, uniform from −1 to 1.
    pub fn signed(&mut self) -> f64 {
        2.0 * self.next() - 1.0
    }
}

/// The indices of all voxels of a shape. The x index varies fastest.
pub fn voxels([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

/// Test image with values from 0 to 1: waves, a dark corner of exact zeros, and a little noise.
pub fn image(shape: [usize; 3], seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    let waves: Vec<[f64; 4]> = (0..6).map(|_| std::array::from_fn(|_| random.signed())).collect();
    voxels(shape)
        .map(|voxel| {
            let value = waves.iter().fold(0.5, |sum, wave| {
                let phase: f64 = (0..3).map(|axis| 0.4 * wave[axis] * voxel[axis] as f64).sum();
                sum + 0.15 * (phase + 3.0 * wave[3]).sin()
            });
            let dark = voxel[0] < shape[0] / 4 && voxel[1] < shape[1] / 3;
            if dark { 0.0 } else { (value + 0.03 * random.signed()).clamp(0.0, 1.0) as f32 }
        })
        .collect()
}

/// Makes a volume of weights from 0 to 1, of which many are exactly 0 or 1.
pub fn weight(shape: [usize; 3], seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..shape.iter().product()).map(|_| (1.6 * random.next() - 0.3).clamp(0.0, 1.0) as f32).collect()
}

/// Test field of uniform noise with the given amplitude in voxels. It moves points near the border out of the volume.
pub fn rough_field(shape: [usize; 3], amplitude: f64, seed: u64) -> Vec<[f32; 3]> {
    let mut random = Random::new(seed);
    voxels(shape).map(|_| std::array::from_fn(|_| (amplitude * random.signed()) as f32)).collect()
}

/// Smooth test field that vanishes at the border. Its largest derivative is about `steepness`.
pub fn smooth_field(shape: [usize; 3], steepness: f64) -> Vec<[f32; 3]> {
    voxels(shape)
        .map(|voxel| {
            let window: f64 = (0..3)
                .filter(|&axis| shape[axis] > 1)
                .map(|axis| (std::f64::consts::PI * voxel[axis] as f64 / (shape[axis] - 1) as f64).sin())
                .product();
            std::array::from_fn(|axis| {
                let wave = (0.5 * voxel[(axis + 1) % 3] as f64 + 0.4 * voxel[axis] as f64 + axis as f64).sin();
                if shape[axis] > 1 { (steepness * 2.0 * window * wave) as f32 } else { 0.0 }
            })
        })
        .collect()
}

/// An oblique, anisotropic affine map between voxel spaces. It maps a part of the volume outside.
pub fn oblique_map() -> AffineTransform {
    let rotation = Rotation3::from_euler_angles(0.2, -0.15, 0.3);
    AffineTransform {
        matrix: rotation.matrix() * Matrix3::from_diagonal(&Vector3::new(0.8, 1.1, 1.3)),
        translation: Vector3::new(3.2, -2.1, 0.7),
    }
}
