//! A registered pair on one coarse grid.

use antsreg_core::Grid;
use nalgebra::{Point3, Vector3};

/// Number of voxels along the longest side of the coarse grid. The voxels are 4 mm long in a field of view of 224 mm.
const VOXELS: f64 = 56.0;

/// An image that was read on the grid of another one.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The blurred image, x fastest. A voxel without data is 0.
    pub values: Vec<f32>,
    /// Share of the voxel, 0 to 1, that lies inside the image and inside the fixed mask.
    pub inside: Vec<f32>,
}

/// The fixed image and the registered moving image, blurred, on one coarse grid.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The grid, from [`coarse_grid`].
    pub grid: Grid,
    /// The fixed image, x fastest.
    pub fixed: Vec<f32>,
    /// The moving image under the affine of the result.
    pub affine: Seen,
    /// The moving image under the whole transform; `None` without a deformable stage.
    pub warped: Option<Seen>,
}

/// The coarse grid in the field of view of the fixed image's grid: nearly isotropic, and no voxel shorter than those of
/// `grid`.
pub fn coarse_grid(grid: &Grid) -> Grid {
    let sides = Vector3::from_fn(|axis, _| grid.shape[axis] as f64 * grid.spacing[axis]);
    let axes = if grid.is_slice() { 2 } else { 3 };
    let longest = (0..axes).map(|axis| sides[axis]).fold(0.0, f64::max);
    let size = longest / VOXELS;
    let shape: [usize; 3] = std::array::from_fn(|axis| match axis < axes {
        true => ((sides[axis] / size.max(grid.spacing[axis])).round() as usize).max(1),
        false => grid.shape[axis],
    });
    let spacing = Vector3::from_fn(|axis, _| sides[axis] / shape[axis] as f64);
    let first = Vector3::from_fn(|axis, _| 0.5 * (spacing[axis] / grid.spacing[axis] - 1.0));
    Grid { shape, spacing, origin: grid.voxel_to_world().apply(&Point3::from(first)), direction: grid.direction }
}

/// Where an image shows an object, and its range of intensities.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// Whether each voxel is brighter than air.
    pub is_object: Vec<bool>,
    /// Robust range of the intensities: the first and the 99th percentile of the voxels that have data.
    pub range: [f32; 2],
}

impl Object {
    /// Finds the object in an image. `None` for an image without data or without contrast.
    pub fn of(values: &[f32], has_data: impl Fn(usize) -> bool) -> Option<Object> {
        /// An object is brighter than the darkest voxels by this share of the range. Air of magnitude images lies below
        /// it, the darkest tissue above.
        const SHARE: f32 = 0.1;
        let mut sorted: Vec<f32> = (0..values.len()).filter(|n| has_data(*n)).map(|n| values[n]).collect();
        if sorted.len() < 8 {
            return None;
        }
        let last = sorted.len() - 1;
        let mut quantile =
            |share: f64| *sorted.select_nth_unstable_by((share * last as f64) as usize, f32::total_cmp).1;
        let [low, high] = [quantile(0.01), quantile(0.99)];
        if !(high - low).is_finite() || high <= low {
            return None;
        }
        let least = low + SHARE * (high - low);
        let is_object = (0..values.len()).map(|n| has_data(n) && values[n] > least).collect();
        Some(Object { is_object, range: [low, high] })
    }

    /// An intensity as a share of the range, from 0 to 1.
    pub fn scaled(&self, value: f32) -> f32 {
        let [low, high] = self.range;
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }
}
