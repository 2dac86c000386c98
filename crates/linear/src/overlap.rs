//! The overlap of the fields of view of two images, and the penalty of transforms that lose it.
//!
//! A cost is computed where the images overlap. In a small part of an image, intensities predict each other by chance,
//! so the lowest of all costs may be that of a sliver. Therefore the information that the images share (1 − cost) counts
//! less if the overlap is less than half of that of the starts of the search.

use antsreg_core::{AffineTransform, Grid};
use nalgebra::{Matrix3, Point3, Vector3};

/// Shares of the starts' largest overlap. With at most the first share a transform has cost 1. With at least the second
/// share the cost is not changed. In between, the factor of 1 − cost rises linearly from 0 to 1.
const SHARES: [f64; 2] = [0.1, 0.5];

/// Number of lines along either axis at which an overlap is measured.
const LINES: usize = 6;

/// The overlap of two fields of view as a function of the transform.
///
/// An overlap is measured as its volume in the world of the fixed image or of the moving image, whichever is smaller.
/// So it does not change if the images change sides, and becomes small as well where a scale shrinks one image to a
/// small part of the other.
pub(crate) struct Overlap {
    /// Whether the fixed field of view is the smaller of both.
    fixed_is_smaller: bool,
    /// Map from the unit cube to the smaller field of view, RAS mm.
    from_unit: AffineTransform,
    /// Map from the world of the larger field of view to the unit cube.
    to_unit: AffineTransform,
    /// Volume of the smaller field of view, mm³; the area of a slice is its volume.
    smaller_mm3: f64,
    /// Number of axes: 2 for slices.
    axes: usize,
    /// The largest overlap of the starts.
    expected_mm3: f64,
}

impl Overlap {
    /// Measures the overlap of two fields of view under the starts of a search, fixed → moving, RAS mm.
    pub fn new(fixed: &Grid, moving: &Grid, starts: &[AffineTransform]) -> Overlap {
        let fixed_is_smaller = volume(fixed) <= volume(moving);
        let (smaller, larger) = if fixed_is_smaller { (fixed, moving) } else { (moving, fixed) };
        let mut overlap = Overlap {
            fixed_is_smaller,
            from_unit: smaller.voxel_to_world().after(&from_unit(smaller)),
            to_unit: to_unit(larger).after(&larger.world_to_voxel()),
            smaller_mm3: volume(smaller),
            axes: if fixed.is_slice() { 2 } else { 3 },
            expected_mm3: 0.0,
        };
        overlap.expected_mm3 = starts.iter().map(|start| overlap.mm3(start)).fold(0.0, f64::max);
        overlap
    }

    /// The cost of a transform, raised if its overlap is much smaller than that of the starts.
    pub fn penalised(&self, cost: f64, fixed_to_moving: &AffineTransform) -> f64 {
        let [least, enough] = SHARES.map(|share| share * self.expected_mm3);
        let Some((map, scale)) = self.unit_map(fixed_to_moving) else {
            return 1.0;
        };
        // The lines need not be measured if a box with enough volume remains inside.
        if self.has_core_of(enough, &map, scale) {
            return cost;
        }
        let overlap = self.smaller_mm3 * scale * share_inside(&map, self.axes);
        if overlap >= enough { cost } else { 1.0 - (1.0 - cost) * ((overlap - least) / (enough - least)).max(0.0) }
    }

    /// Whether a box that makes an overlap of `mm3` lies inside. `map` and `scale` are those of [`Overlap::unit_map`].
    fn has_core_of(&self, mm3: f64, map: &AffineTransform, scale: f64) -> bool {
        has_core_inside(map, self.axes, mm3 / (self.smaller_mm3 * scale))
    }

    /// The overlap under a transform, fixed → moving, RAS mm; 0 for a singular transform.
    fn mm3(&self, fixed_to_moving: &AffineTransform) -> f64 {
        let Some((map, scale)) = self.unit_map(fixed_to_moving) else {
            return 0.0;
        };
        self.smaller_mm3 * scale * share_inside(&map, self.axes)
    }

    /// The map from the unit cube of the smaller field of view to that of the larger, and the factor from volumes in the
    /// smaller field of view to volumes of overlaps. `None` for a singular transform.
    fn unit_map(&self, fixed_to_moving: &AffineTransform) -> Option<(AffineTransform, f64)> {
        let to_larger = if self.fixed_is_smaller { *fixed_to_moving } else { fixed_to_moving.inverse()? };
        let scale = to_larger.matrix.determinant().abs().min(1.0);
        Some((self.to_unit.after(&to_larger).after(&self.from_unit), scale))
    }
}

/// Volume of a field of view, mm³. A slice is as thick as its spacing says.
pub(crate) fn volume(grid: &Grid) -> f64 {
    (0..3).map(|axis| grid.shape[axis] as f64 * grid.spacing[axis]).product()
}

/// Map from the unit cube to the voxels of a grid. A voxel reaches half its size beyond its centre.
fn from_unit(grid: &Grid) -> AffineTransform {
    let size = Vector3::from(grid.shape.map(|n| n as f64));
    AffineTransform { matrix: Matrix3::from_diagonal(&size), translation: Vector3::from_element(-0.5) }
}

/// Map from the voxels of a grid to the unit cube.
fn to_unit(grid: &Grid) -> AffineTransform {
    let size = Vector3::from(grid.shape.map(|n| 1.0 / n as f64));
    AffineTransform { matrix: Matrix3::from_diagonal(&size), translation: 0.5 * size }
}

/// Whether a map takes a core of the unit cube into the unit cube. The core has the same centre and this share of the
/// volume.
fn has_core_inside(map: &AffineTransform, axes: usize, share: f64) -> bool {
    if share > 1.0 {
        return false;
    }
    let half = 0.5 * if axes == 3 { share.cbrt() } else { share.sqrt() };
    let centre = map.apply(&Point3::from([0.5; 3]));
    (0..axes).all(|axis| {
        let reach: f64 = (0..axes).map(|column| map.matrix[(axis, column)].abs()).sum();
        (centre[axis] - 0.5).abs() + half * reach <= 0.5
    })
}

/// Share of the unit cube that a map takes into the unit cube, measured on lines along the first axis. With two axes, a
/// square takes the place of the cube.
fn share_inside(map: &AffineTransform, axes: usize) -> f64 {
    let middle = |line: usize, count: usize| (line as f64 + 0.5) / count as f64;
    let depth = if axes == 3 { LINES } else { 1 };
    let per_length: Vector3<f64> = map.matrix.column(0).map(|along| 1.0 / along);
    // A line enters the cube through one of the two faces across each axis, and leaves it through the other.
    let (near, far) = (per_length.map(|rate| f64::from(rate < 0.0)), per_length.map(|rate| f64::from(rate >= 0.0)));
    let mut sum = 0.0;
    for k in 0..depth {
        for j in 0..LINES {
            let from = map.matrix * Vector3::new(0.0, middle(j, LINES), middle(k, depth)) + map.translation;
            let (mut first, mut last) = (0.0, 1.0);
            for axis in 0..axes {
                let enters = (near[axis] - from[axis]) * per_length[axis];
                let leaves = (far[axis] - from[axis]) * per_length[axis];
                // A line within a face enters or leaves at a position that is not a number, which is ignored.
                first = if enters > first { enters } else { first };
                last = if leaves < last { leaves } else { last };
            }
            sum += if last > first { last - first } else { 0.0 };
        }
    }
    sum / (depth * LINES) as f64
}

#[cfg(test)]
mod tests;
