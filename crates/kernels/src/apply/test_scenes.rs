//! Small grids, volumes and chains of transforms for tests of resampling, and a naive resampling that gives the
//! expected results.

use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, TransformChain, Volume};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// Pseudo-random numbers in 0…1 by Knuth's MMIX generator; equal seeds give equal sequences.
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// An oblique, anisotropic grid; `seed` changes its position and axes.
pub fn oblique_grid(shape: [usize; 3], seed: u64) -> Grid {
    let turn = seed as f64 * 0.1;
    let mut direction = Rotation3::from_euler_angles(0.2 + turn, -0.3, 0.1 - turn).into_inner();
    if seed % 2 == 1 {
        direction.column_mut(0).neg_mut();
    }
    let centre = Point3::new(3.0, -20.0 + seed as f64, 8.0);
    let mut grid = Grid { shape, spacing: Vector3::new(1.3, 0.8, 2.1), origin: Point3::origin(), direction };
    grid.origin = centre - (grid.centre() - Point3::origin());
    grid
}

/// A volume with independent pseudo-random values from 0 to 1000.
pub fn noise_volume(grid: Grid, seed: u64) -> Volume {
    let mut noise = Noise(seed);
    let voxels = (0..grid.len()).map(|_| (1000.0 * noise.next()) as f32).collect();
    Volume { grid, voxels }
}

/// A pseudo-random displacement field with components up to 2 mm.
pub fn noise_field(grid: Grid, seed: u64) -> DisplacementField {
    let mut noise = Noise(seed);
    let vectors = (0..grid.len()).map(|_| std::array::from_fn(|_| (4.0 * noise.next() - 2.0) as f32)).collect();
    DisplacementField { grid, vectors }
}

pub fn mild_affine() -> AffineTransform {
    AffineTransform {
        matrix: Matrix3::new(1.05, 0.1, -0.03, -0.08, 0.95, 0.04, 0.02, -0.05, 1.1),
        translation: Vector3::new(0.7, -1.9, 1.3),
    }
}

/// Chains of transforms that cover all cases of [`Path`](super::path::Path), for an output with the grid `onto`.
pub fn chains(onto: &Grid) -> Vec<TransformChain> {
    let affine = || Transform::Affine(mild_affine());
    let here = || Transform::Displacement(noise_field(onto.clone(), 3));
    let elsewhere = || Transform::Displacement(noise_field(oblique_grid([4, 6, 5], 4), 5));
    [
        vec![],
        vec![affine()],
        vec![affine(), affine()],
        vec![here()],
        vec![here(), affine()],
        vec![here(), elsewhere(), affine(), affine()],
        vec![affine(), here(), affine(), elsewhere()],
        vec![elsewhere(), here()],
    ]
    .map(TransformChain::from)
    .to_vec()
}

/// World position of voxel `n` of a grid.
pub fn world(grid: &Grid, n: usize) -> Point3<f64> {
    let [nx, ny, _] = grid.shape;
    grid.voxel_to_world().apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64))
}

/// The fractional voxel index of the input for each output voxel, computed voxel by voxel and transform by transform;
/// `None` outside the input.
pub fn slow_indices(onto: &Grid, chain: &TransformChain, input: &Grid) -> Vec<Option<[f64; 3]>> {
    let to_voxel = input.world_to_voxel();
    (0..onto.len())
        .map(|n| {
            let index: [f64; 3] = to_voxel.apply(&chain.apply(&world(onto, n))).into();
            (0..3).all(|a| index[a] >= -0.5 && index[a] < input.shape[a] as f64 - 0.5).then_some(index)
        })
        .collect()
}

/// Trilinear weight of every voxel of a grid at `index`, as products of tent functions. An index beyond the outermost
/// centres is clamped to them.
pub fn tent_weights(shape: [usize; 3], index: [f64; 3]) -> impl Iterator<Item = f64> {
    let tent = move |axis: usize, at: usize| {
        let clamped = index[axis].clamp(0.0, shape[axis] as f64 - 1.0);
        (1.0 - (clamped - at as f64).abs()).max(0.0)
    };
    let [nx, ny, nz] = shape;
    (0..nx * ny * nz).map(move |n| tent(0, n % nx) * tent(1, n / nx % ny) * tent(2, n / (nx * ny)))
}
