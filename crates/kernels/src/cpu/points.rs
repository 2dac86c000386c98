//! Points in a volume, many at a time: the cells that contain them are found by vector instructions, before single
//! voxels are read. A cell lies between eight neighbouring voxels.

use crate::cpu::whole::whole;

/// Number of points that one step of a vectorised loop processes.
const LANES: usize = 16;

/// Points in voxel indices of a volume, and the cells of the volume that contain them. Each array has one entry for each
/// point.
pub(super) struct Points {
    at: [[f32; Points::MOST]; 3],
    /// Index in memory of the lower corner of each point's cell.
    near: [u32; Points::MOST],
    /// Position within the cell along each axis, 0…1.
    within: [[f32; Points::MOST]; 3],
}

/// The cell that contains a point, and the position of the point in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Index in memory of the lower corner of the cell.
    pub(super) near: usize,
    /// Position within the cell along each axis, 0…1.
    pub(super) within: [f32; 3],
}

impl Points {
    /// Largest number of points. It is so large that the values which one loop stores have reached memory before the
    /// next loop reads them as vectors.
    pub(super) const MOST: usize = 4 * LANES;

    pub(super) fn new() -> Points {
        let zeros = [0.0; Points::MOST];
        Points { at: [zeros; 3], near: [0; Points::MOST], within: [zeros; 3] }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, point: usize, at: [f32; 3]) {
        for axis in 0..3 {
            self.at[axis][point] = at[axis];
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, point: usize) -> [f32; 3] {
        self.at.each_ref().map(|axis| axis[point])
    }

    /// Finds the cells that contain the first `count` points, clamped to the volume. Returns bounds of these cells: the
    /// lowest and the highest index along each axis. The bounds may be wider, because the last step of the loop
    /// processes points after the last one.
    #[inline(always)]
    pub(super) fn locate(&mut self, count: usize, shape: [usize; 3]) -> [[u32; 3]; 2] {
        let strides = strides(shape).map(|stride| stride as u32);
        let mut bounds = [[0; 3]; 2];
        for axis in 0..3 {
            let top = shape[axis] as f32 - 1.0;
            let last_cell = if top > 1.0 { top - 1.0 } else { 0.0 };
            let (mut lowest, mut highest) = ([u32::MAX; LANES], [0; LANES]);
            for group in 0..count.div_ceil(LANES) {
                let range = group * LANES..(group + 1) * LANES;
                let at = &self.at[axis][range.clone()];
                let near = &mut self.near[range.clone()];
                let within = &mut self.within[axis][range];
                for lane in 0..LANES {
                    // A coordinate that is not a number becomes 0.
                    let clamped = if at[lane] > 0.0 { at[lane] } else { 0.0 };
                    let clamped = if clamped < top { clamped } else { top };
                    let cell = if clamped < last_cell { clamped } else { last_cell }.floor();
                    within[lane] = clamped - cell;
                    let cell = whole(cell);
                    lowest[lane] = lowest[lane].min(cell);
                    highest[lane] = highest[lane].max(cell);
                    let before = if axis > 0 { near[lane] } else { 0 };
                    near[lane] = before.wrapping_add(cell.wrapping_mul(strides[axis]));
                }
            }
            bounds[0][axis] = lowest.into_iter().fold(u32::MAX, u32::min);
            bounds[1][axis] = highest.into_iter().fold(0, u32::max);
        }
        bounds
    }

    /// The positions of the points within their cells along each axis, found by [`locate`](Self::locate).
    #[inline(always)]
    pub(super) fn within(&self) -> &[[f32; Points::MOST]; 3] {
        &self.within
    }

    /// The place of a point, found by [`locate`](Self::locate).
    #[inline(always)]
    pub(super) fn place(&self, point: usize) -> Place {
        Place { near: self.near[point] as usize, within: self.within.each_ref().map(|axis| axis[point]) }
    }
}

/// Distance in memory to the next voxel along each axis, 0 along an axis of one voxel.
pub(super) fn strides(shape: [usize; 3]) -> [usize; 3] {
    let steps = [1, shape[0], shape[0] * shape[1]];
    std::array::from_fn(|axis| if shape[axis] > 1 { steps[axis] } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::field::lanes;
    use crate::cpu::image::Cell;

    #[test]
    fn many_points_have_the_places_that_each_of_them_has_alone() {
        for shape in [[40, 7, 9], [1, 30, 4], [5, 1, 1], [2, 3, 1]] {
            let at = |n: usize| {
                let along = |axis: usize, step: f32| (n as f32 * step).rem_euclid(shape[axis] as f32 + 2.0) - 1.5;
                match n {
                    0..8 => [n as f32; 3],
                    8 => [f32::NAN, 1.0, f32::INFINITY],
                    9 => [-0.0, f32::NEG_INFINITY, f32::NAN],
                    _ => [along(0, 1.37), along(1, 0.61), along(2, 2.93)],
                }
            };
            for count in [1, 16, 17, Points::MOST] {
                let mut points = Points::new();
                (0..count).for_each(|n| points.set(n, at(n)));
                let [low, high] = points.locate(count, shape);
                for n in 0..count {
                    let alone = Cell::new(shape).locate(lanes(at(n)));
                    assert_eq!(points.place(n), alone, "{:?} in {shape:?}", at(n));
                    let (row, rows) = (shape[0], alone.near / shape[0]);
                    let cell = [alone.near % row, rows % shape[1], rows / shape[1]];
                    for axis in 0..3 {
                        let bounds = low[axis] as usize..=high[axis] as usize;
                        assert!(bounds.contains(&cell[axis]), "{cell:?} in {shape:?}: {low:?} to {high:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_bounds_are_those_of_the_cells() {
        let mut points = Points::new();
        let at = |n: usize| [3.5 + (n % 5) as f32, 9.0 - (n % 3) as f32, 2.25];
        (0..Points::MOST).for_each(|n| points.set(n, at(n)));
        assert_eq!(points.locate(Points::MOST, [20, 20, 20]), [[3, 7, 2], [7, 9, 2]]);
    }
}
