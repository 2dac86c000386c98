//! Small rigid moves of an image on the coarse grid, also of its mirror image.

use antsreg_core::{AffineTransform, Grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// Where an object lies and how large it is, in world mm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Its centre.
    pub centre: Point3<f64>,
    /// Root-mean-square distance of its voxels from the centre, mm.
    pub radius: f64,
    /// Longest side of the box around it along the axes of the grid, mm.
    pub extent: f64,
}

impl Place {
    /// The place of the voxels for which `is_object` is true; `None` without such a voxel.
    pub fn of(grid: &Grid, is_object: &[bool]) -> Option<Place> {
        let to_world = grid.voxel_to_world();
        let [nx, ny, _] = grid.shape;
        let points = || {
            let at = move |n: usize| Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
            is_object.iter().enumerate().filter(|(_, is)| **is).map(move |(n, _)| to_world.apply(&at(n)))
        };
        let count = points().count() as f64;
        let [first, last] = grid.bounds_of(is_object, |is| *is)?;
        let centre = Point3::from(points().map(|point| point.coords).sum::<Vector3<f64>>() / count);
        let squares: f64 = points().map(|point| (point - centre).norm_squared()).sum();
        let sides = (0..3).map(|axis| (last[axis] + 1 - first[axis]) as f64 * grid.spacing[axis]);
        Some(Place { centre, radius: (squares / count).sqrt(), extent: sides.fold(0.0, f64::max) })
    }
}

/// A rigid move: a rotation vector about the centre of the fixed object, radians, then a translation in units of the
/// object's radius.
pub(crate) type Move = [f64; 6];

/// The map of points of the fixed image to points of the registered moving image. If `mirrored`, the moving object is
/// reflected at the plane across the world's first axis (left and right) through its centre.
pub(crate) fn map(turn: &Move, fixed: &Place, moving: Option<&Place>) -> AffineTransform {
    let rotation = Rotation3::new(Vector3::new(turn[0], turn[1], turn[2])).into_inner();
    let shift = fixed.radius * Vector3::new(turn[3], turn[4], turn[5]);
    let (flip, to) = match moving {
        Some(moving) => (Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)), moving.centre),
        None => (Matrix3::identity(), fixed.centre),
    };
    let matrix = flip * rotation;
    AffineTransform { matrix, translation: to.coords + shift - matrix * fixed.centre.coords }
}

/// Root-mean-square displacement of the object's voxels by a move, mm: for a rotation by an angle φ it is that of a ball
/// of the same radius, 2·sin(φ/2)·radius·√(2/3).
pub(crate) fn moved_mm(turn: &Move, place: &Place) -> f64 {
    let angle = (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]).sqrt();
    let shift = (turn[3] * turn[3] + turn[4] * turn[4] + turn[5] * turn[5]).sqrt();
    let by_turn = 2.0 * (0.5 * angle).sin() * (2.0f64 / 3.0).sqrt();
    place.radius * (by_turn * by_turn + shift * shift).sqrt()
}
