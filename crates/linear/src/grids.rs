//! Grids of the resolution levels.

use antsreg_core::Grid;
use nalgebra::{Matrix3, Point3, Rotation3, Unit, Vector3};

use crate::Options;

/// Angle between an image and its oblique grid, degrees. It is so large that a row of voxels passes through all
/// positions between the voxels of the image, and so small that the grid remains in the order in which the voxels of
/// the image are stored.
const OBLIQUE_DEGREES: f64 = 22.0;

/// The grid of the fixed image on the resolution level with voxels of `mm`, if `grid` is the grid of the image.
pub(crate) fn of_level(grid: &Grid, mm: f64, options: &Options) -> Grid {
    if options.joins_partial_volumes() { oblique(grid, mm) } else { isotropic(grid, mm) }
}

/// An isotropic grid with voxels of `mm`, along the axes of `grid`, that fills the field of view of `grid`.
pub(crate) fn isotropic(grid: &Grid, mm: f64) -> Grid {
    centred(grid, Vector3::from_element(mm))
}

/// An isotropic grid with voxels of `mm` that contains the field of view of `grid`, with axes oblique to those of
/// `grid`. The grid of a slice is turned within its plane.
///
/// A joint histogram that is filled by partial-volume interpolation has fewer filled bins where voxels of both images
/// coincide, so that its cost has false minima at transforms that align the two grids (Pluim, Maintz & Viergever 2000;
/// Tsao 2003). No plausible transform aligns an oblique grid with the grid of the moving image.
fn oblique(grid: &Grid, mm: f64) -> Grid {
    let axis = if grid.is_slice() { Vector3::z() } else { Vector3::from_element(1.0) };
    let turn = Rotation3::from_axis_angle(&Unit::new_normalize(axis), OBLIQUE_DEGREES.to_radians()).into_inner();
    let length = Vector3::from_fn(|axis, _| grid.shape[axis] as f64 * grid.spacing[axis]);
    let mut spacing = Vector3::from_element(mm);
    if grid.is_slice() {
        spacing.z = grid.spacing.z;
    }
    let extent = turn.transpose().abs() * length;
    let shape = std::array::from_fn(|axis| (extent[axis] / spacing[axis] - 1e-3).ceil() as usize);
    around(&grid.centre(), shape, spacing, grid.direction * turn)
}

/// A copy of `grid` with larger voxels, for an image that is blurred to a resolution of `mm`. Along each axis, the new
/// voxels are at most `mm`/2 long, except where the voxels of `grid` are already longer.
pub(crate) fn thinned(grid: &Grid, mm: f64) -> Grid {
    centred(grid, grid.spacing.map(|spacing| spacing * (0.5 * mm / spacing).floor().max(1.0)))
}

/// A coarse grid of samples over the field of view of `grid`, at least `step` and at least a voxel apart.
pub(crate) fn sampled(grid: &Grid, step: f64) -> Grid {
    centred(grid, grid.spacing.map(|spacing| spacing.max(step)))
}

/// A copy of `grid` with its axes in the order that brings them closest to the columns of `directions`.
pub(crate) fn reordered(grid: &Grid, directions: &Matrix3<f64>) -> Grid {
    // The third axis of a slice, its normal, stays the third axis.
    let axes = if grid.is_slice() { 2 } else { 3 };
    let cosines = grid.direction.transpose() * directions;
    let match_of = |order: &[usize; 3]| (0..3).map(|axis| cosines[(order[axis], axis)].abs()).sum::<f64>();
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let best = orders
        .into_iter()
        .filter(|order| order[axes..].iter().all(|axis| *axis >= axes))
        .fold(orders[0], |best, order| if match_of(&order) > match_of(&best) { order } else { best });
    Grid {
        shape: best.map(|axis| grid.shape[axis]),
        spacing: Vector3::from_fn(|axis, _| grid.spacing[best[axis]]),
        origin: grid.origin,
        direction: Matrix3::from_fn(|row, axis| grid.direction[(row, best[axis])]),
    }
}

/// A grid with the given spacing and with the axes and the centre of `grid`. It is not larger than `grid`. A slice
/// keeps its thickness.
fn centred(grid: &Grid, mut spacing: Vector3<f64>) -> Grid {
    if grid.is_slice() {
        spacing.z = grid.spacing.z;
    }
    if (0..3).all(|axis| (spacing[axis] - grid.spacing[axis]).abs() < 1e-3 * grid.spacing[axis]) {
        return grid.clone();
    }
    let shape: [usize; 3] = std::array::from_fn(|axis| {
        let length = grid.shape[axis] as f64 * grid.spacing[axis] / spacing[axis];
        ((length + 1e-3).floor() as usize).max(1)
    });
    around(&grid.centre(), shape, spacing, grid.direction)
}

/// A grid around a centre, RAS mm.
fn around(centre: &Point3<f64>, shape: [usize; 3], spacing: Vector3<f64>, direction: Matrix3<f64>) -> Grid {
    let to_first = Vector3::from_fn(|axis, _| -0.5 * (shape[axis] as f64 - 1.0) * spacing[axis]);
    Grid { shape, spacing, origin: centre + direction * to_first, direction }
}

#[cfg(test)]
pub(crate) mod tests;
