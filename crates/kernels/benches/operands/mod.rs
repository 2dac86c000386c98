//! Operands for timing the kernels: images of noise, and displacement fields like those of registrations.

use antsreg_core::AffineTransform;
use antsreg_kernels::{Backend, Error};

/// Returns `count` pseudo-random values from 0 to 1. Equal seeds give equal values.
pub fn noise(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A test image: noise smoothed with a standard deviation of one voxel.
pub fn brain<B: Backend>(backend: &B, shape: [usize; 3], seed: u32) -> Result<B::Image, Error> {
    backend.smooth(&backend.upload(shape, &noise(seed, shape.iter().product()))?, [1.0; 3])
}

/// A test field of smooth displacements of a few voxels, like the fields of registrations.
pub fn field<B: Backend>(backend: &B, shape: [usize; 3], seed: u32) -> Result<B::Field, Error> {
    let values = noise(seed, 3 * shape.iter().product::<usize>());
    let vectors: Vec<[f32; 3]> =
        values.as_chunks().0.iter().map(|v: &[f32; 3]| v.map(|value| 60.0 * (value - 0.5))).collect();
    let (mut field, mut scratch) = (backend.upload_field(shape, &vectors)?, backend.field(shape)?);
    // The operation smooths two fields in one call. Here the second field has a single voxel.
    let [mut other, mut other_scratch] = backend.field_pair([1; 3])?;
    for _ in 0..3 {
        backend.smooth_both_fields([&mut field, &mut other], 6.0, [&mut scratch, &mut other_scratch])?;
    }
    Ok(field)
}

/// An affine map that rotates by some degrees and shifts by some voxels.
pub fn turn() -> AffineTransform {
    AffineTransform {
        matrix: nalgebra::Rotation3::from_euler_angles(0.05, -0.04, 0.1).into_inner(),
        translation: nalgebra::Vector3::new(8.0, -6.0, 3.0),
    }
}
