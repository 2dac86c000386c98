//! The displacement by distortion, and what follows from it.

use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use crate::lines::Lines;

/// Displacement of signal along the phase encoding axis, on the grid of the undistorted image.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    grid: Grid,
    lines: Lines,
    /// Displacement at the faces of the voxels, mm, positive toward larger indices.
    faces: Vec<f64>,
}

impl Field {
    pub(crate) fn new(grid: Grid, lines: Lines, faces: Vec<f64>) -> Field {
        Field { grid, lines, faces }
    }

    /// The field whose displacement at the voxel centres is `mm`, along the voxel axis `axis` (0 to 2).
    pub fn of_displacement(mm: &Volume, axis: usize) -> Field {
        let lines = Lines::of(&mm.grid, axis);
        let centres = lines.gather(&mm.voxels);
        let mut faces = vec![0.0; lines.faces() * lines.count()];
        faces.par_chunks_mut(lines.faces()).zip(centres.par_chunks(lines.cells)).for_each(|(faces, centres)| {
            for (face, out) in faces.iter_mut().enumerate() {
                let near = [face.saturating_sub(1), face.min(centres.len() - 1)];
                *out = 0.5 * (centres[near[0]] + centres[near[1]]);
            }
        });
        Field { grid: mm.grid.clone(), lines, faces }
    }

    /// The grid of the undistorted image.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The phase encoding axis, as the number of the voxel axis, 0 to 2.
    pub fn axis(&self) -> usize {
        self.lines.axis
    }

    /// A value of each voxel, from the displacements at the voxel's two faces.
    fn of_voxels(&self, value: impl Fn(f64, f64) -> f64) -> Volume {
        let of_line = |line: &[f64]| line.windows(2).map(|near| value(near[0], near[1])).collect::<Vec<_>>();
        let values: Vec<f64> = self.faces.chunks(self.lines.faces()).flat_map(of_line).collect();
        Volume { grid: self.grid.clone(), voxels: self.lines.scatter(&values) }
    }

    /// The displacement along the phase encoding axis in an image with positive encoding, mm: signal from voxel centre x is
    /// found at x + displacement.
    pub fn displacement_mm(&self) -> Volume {
        self.of_voxels(|first, second| 0.5 * (first + second))
    }

    /// The factor by which the signal of an image is multiplied, 1 + scale·d′: its density after correction against its
    /// density at the displaced position. At least 0. `scale` is the sign of the encoding, times the ratio of readout
    /// times.
    pub fn jacobian(&self, scale: f64) -> Volume {
        let size = self.lines.size_mm[0];
        self.of_voxels(|first, second| (1.0 + scale * (second - first) / size).max(0.0))
    }

    /// The warp from points of the undistorted image to points of a distorted image, RAS mm. The point is displaced by
    /// the distortion, then moved by `motion`.
    pub fn warp(&self, scale: f64, motion: &AffineTransform) -> DisplacementField {
        let displacement = self.displacement_mm();
        let to_world = self.grid.voxel_to_world();
        let along: Vector3<f64> = self.grid.direction.column(self.lines.axis).into_owned();
        let [nx, ny, _] = self.grid.shape;
        let vector = |(n, mm): (usize, &f32)| {
            let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
            let point = to_world.apply(&index);
            let moved = motion.apply(&(point + along * (scale * f64::from(*mm))));
            (moved - point).map(|value| value as f32).into()
        };
        let vectors = displacement.voxels.par_iter().enumerate().map(vector).collect();
        DisplacementField { grid: self.grid.clone(), vectors }
    }
}
