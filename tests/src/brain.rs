//! A synthetic brain given by formulas: intensity and label are known at every point, so that it can be sampled on
//! any grid without interpolation.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Grid, LabelVolume, Volume};
use nalgebra::{Matrix3, Point3, Vector3};
use std::path::Path;

/// A synthetic brain at a position given by `to_brain`. Without a warp, the brain has at the
/// world point x (mm, RAS) the intensity that the formula gives at to_brain(x). In the coordinates of the formula, the
/// brain's centre is the origin.
#[derive(Debug, Clone, Copy)]
pub struct Brain {
    /// Affine map from world points to the brain's own coordinates (mm), in which its intensities are given by a
    /// formula.
    pub to_brain: AffineTransform,
    /// Amplitude of an additional smooth warp of the brain, mm; 0 for no warp.
    pub warp_mm: f64,
}

/// Half axes of the synthetic brain, mm.
const RADII: [f64; 3] = [62.0, 78.0, 56.0];

impl Brain {
    /// The synthetic brain in its standard position: centred at the origin of the world, with axes along RAS.
    pub fn standard() -> Brain {
        Brain { to_brain: AffineTransform::identity(), warp_mm: 0.0 }
    }

    /// The synthetic brain at another position or in another shape: the affine `to_world` maps points of the standard
    /// brain to world points.
    pub fn moved(to_world: &AffineTransform) -> Brain {
        Brain { to_brain: to_world.inverse().expect("a map with an inverse"), warp_mm: 0.0 }
    }

    fn own(&self, world: &Point3<f64>) -> Point3<f64> {
        let p = self.to_brain.apply(world);
        let wave = |a: f64, b: f64| self.warp_mm * (a / 21.0).sin() * (b / 25.0).cos();
        Point3::new(p.x + wave(p.y, p.z), p.y + wave(p.z, p.x), p.z + wave(p.x, p.y))
    }

    /// Intensity of the synthetic brain at a world point.
    pub fn intensity(&self, world: &Point3<f64>) -> f32 {
        let p = self.own(world);
        let radius = radius(&p);
        if radius > 1.0 {
            return 0.0;
        }
        // The intensities have ripples that grow towards the surface, a dark centre and one bright region, so that the
        // brain has no symmetry.
        let folds = (p.x / 5.5).sin() * (p.y / 6.5 + 0.7).cos() * (p.z / 6.0 + 0.3).sin() * radius;
        let ventricle = (-(p - Point3::new(4.0, 6.0, 5.0)).norm_squared() / 300.0).exp();
        let lobe = (-(p - Point3::new(22.0, 40.0, 12.0)).norm_squared() / 900.0).exp();
        (600.0 + 220.0 * folds - 350.0 * ventricle + 250.0 * lobe) as f32
    }

    /// Label of the synthetic brain at a world point: 1 to 8 by octant, 9 in the middle, 0 outside the brain.
    pub fn label(&self, world: &Point3<f64>) -> i32 {
        let p = self.own(world);
        match radius(&p) {
            r if r > 1.0 => 0,
            r if r < 0.4 => 9,
            _ => 1 + i32::from(p.x > 3.0) + 2 * i32::from(p.y > -5.0) + 4 * i32::from(p.z > 4.0),
        }
    }

    /// The image of the brain on a grid. Each voxel is the mean of eight points, one in each octant of the voxel, as a
    /// scanner would average.
    pub fn image(&self, grid: &Grid) -> Volume {
        let eighths: Vec<Vector3<f64>> = (0..8)
            .map(|n| {
                let sign = |axis: usize| if n >> axis & 1 == 0 { -1.0 } else { 1.0 };
                (0..3).map(|axis| grid.direction.column(axis) * (sign(axis) * grid.spacing[axis] / 4.0)).sum()
            })
            .collect();
        let mean = |x: Point3<f64>| eighths.iter().map(|part| self.intensity(&(x + part))).sum::<f32>() / 8.0;
        Volume { voxels: centres(grid).map(mean).collect(), grid: grid.clone() }
    }

    /// The label map of the brain on a grid.
    pub fn labels(&self, grid: &Grid) -> LabelVolume {
        LabelVolume { voxels: centres(grid).map(|x| self.label(&x)).collect(), grid: grid.clone() }
    }

    /// Writes the image of the brain on a grid to a file.
    pub fn write_image(&self, grid: &Grid, path: &Path) {
        nifti::write_volume(path, &self.image(grid)).expect("an image is written");
    }

    /// Writes the label map of the brain on a grid to a file.
    pub fn write_labels(&self, grid: &Grid, path: &Path) {
        nifti::write_labels(path, &self.labels(grid)).expect("a label map is written");
    }
}

/// Distance of a point (in the brain's own coordinates) from the centre of the synthetic brain, scaled so that its
/// surface has distance 1. Like a real brain, it is narrower in front and flatter below. A ball would look the same in
/// every orientation, so a registration could not find its rotation.
fn radius(p: &Point3<f64>) -> f64 {
    let narrower = 1.0 - 0.25 * (p.y / RADII[1]).clamp(-1.0, 1.0);
    let flatter = if p.z < 0.0 { 0.6 } else { 1.0 };
    let half_axes = [RADII[0] * narrower, RADII[1], RADII[2] * flatter];
    (0..3).map(|axis| (p[axis] / half_axes[axis]).powi(2)).sum::<f64>().sqrt()
}

/// World positions of all voxels of a grid, first axis fastest.
fn centres(grid: &Grid) -> impl Iterator<Item = Point3<f64>> + '_ {
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    (0..grid.len()).map(move |n| {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        to_world.apply(&index)
    })
}

/// A grid with voxels of `spacing_mm` around a brain centred at `middle`; the voxel axes are the columns of
/// `direction`.
pub fn grid(spacing_mm: f64, middle: [f64; 3], direction: Matrix3<f64>) -> Grid {
    // In each world direction the grid covers the longest half axis of the brain and a margin, whatever the order of
    // the axes.
    let shape = [168.0, 176.0, 164.0].map(|extent: f64| (extent / spacing_mm).round() as usize);
    let half = Vector3::from_fn(|axis, _| (shape[axis] as f64 - 1.0) / 2.0 * spacing_mm);
    Grid {
        shape,
        spacing: Vector3::repeat(spacing_mm),
        origin: Point3::from(Vector3::from(middle) - direction * half),
        direction,
    }
}
