//! A brain-sized object given by a formula, so that it can be sampled exactly on any grid and through any transform.

use antsreg_core::{AffineTransform, Grid, Volume};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// The Gaussian blobs that form the object: centre (mm), standard deviation (mm), height. Together they have no
/// symmetry.
const BLOBS: [([f64; 3], f64, f64); 9] = [
    ([0.0, 0.0, 0.0], 30.0, 1.0),
    ([24.0, 34.0, 10.0], 13.0, 1.0),
    ([-22.0, 30.0, -14.0], 12.0, 0.8),
    ([30.0, -36.0, 4.0], 14.0, 0.9),
    ([-26.0, -40.0, 16.0], 11.0, 1.2),
    ([6.0, 12.0, 30.0], 10.0, -0.7),
    ([-8.0, -14.0, -28.0], 12.0, -0.5),
    ([38.0, 4.0, -8.0], 9.0, 0.7),
    ([-4.0, 58.0, 4.0], 10.0, 0.9),
];

/// Intensity of the test object at a point in the object's own coordinates, mm.
pub fn object(at: &Point3<f64>) -> f64 {
    let blobs = BLOBS.iter().map(|(centre, width, height)| {
        height * (-(at - Point3::from(*centre)).norm_squared() / (2.0 * width * width)).exp()
    });
    1000.0 * blobs.sum::<f64>().max(0.0)
}

/// Points of the test object at which the errors of registrations are measured.
pub fn landmarks() -> Vec<Point3<f64>> {
    BLOBS.iter().map(|(centre, _, _)| Point3::from(*centre)).collect()
}

/// A grid that contains the test object. The object is not in its centre.
pub fn fixed_grid() -> Grid {
    let mut grid = Grid::axis_aligned([37, 45, 34], [4.0; 3]);
    grid.origin = Point3::new(-70.0, -86.0, -64.0);
    grid
}

/// The test object, moved by `fixed_to_moving` and sampled on `grid`.
pub fn sampled(grid: Grid, fixed_to_moving: &AffineTransform) -> Volume {
    let back = fixed_to_moving.inverse().expect("an invertible transform");
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    let voxels = (0..grid.len())
        .map(|i| {
            let index = Point3::new((i % nx) as f64, (i / nx % ny) as f64, (i / nx / ny) as f64);
            object(&back.apply(&to_world.apply(&index))) as f32
        })
        .collect();
    Volume { grid, voxels }
}

pub fn fixed() -> Volume {
    sampled(fixed_grid(), &AffineTransform::identity())
}

/// An affine map: scales, then a rotation about the origin by angles in degrees, then a translation.
pub fn affine(degrees: [f64; 3], scales: [f64; 3], shift: [f64; 3]) -> AffineTransform {
    let [x, y, z] = degrees.map(f64::to_radians);
    let rotation = Rotation3::from_euler_angles(x, y, z).into_inner();
    AffineTransform { matrix: rotation * Matrix3::from_diagonal(&scales.into()), translation: Vector3::from(shift) }
}

/// Largest distance between the positions to which two transforms map a landmark, mm.
pub fn error_mm(found: &AffineTransform, truth: &AffineTransform) -> f64 {
    landmarks().iter().map(|at| (found.apply(at) - truth.apply(at)).norm()).fold(0.0, f64::max)
}
