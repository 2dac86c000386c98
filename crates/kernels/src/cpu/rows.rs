//! The part of a row of fixed voxels that is mapped into the moving image.

use std::ops::Range;

use nalgebra::Vector3;

/// A row of fixed voxels, mapped into the moving image: voxel x of the row has the position `start + x·step`, in voxel
/// indices of the moving image.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Row {
    pub start: Vector3<f64>,
    pub step: Vector3<f64>,
}

impl Row {
    /// An affine map takes a row of fixed voxels into the moving volume. Returns the part of the row, within the range
    /// `within`, that is mapped at least `margin` voxels inward from the outermost voxel centres of the volume.
    pub fn inside(&self, shape: [usize; 3], margin: [f64; 3], within: Range<usize>) -> Range<usize> {
        let (mut first, mut last) = (within.start as f64, within.end as f64 - 1.0);
        for axis in 0..3 {
            let (low, high) = (margin[axis], shape[axis] as f64 - 1.0 - margin[axis]);
            let (start, step) = (self.start[axis], self.step[axis]);
            if low > high {
                return within.start..within.start;
            }
            if (step * within.end as f64).abs() < 1e-9 {
                if start < low || start > high {
                    return within.start..within.start;
                }
                continue;
            }
            let (a, b) = ((low - start) / step, (high - start) / step);
            first = first.max(a.min(b).ceil());
            last = last.min(a.max(b).floor());
        }
        if first > last {
            return within.start..within.start;
        }
        first as usize..last as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(start: [f64; 3], step: [f64; 3]) -> Row {
        Row { start: start.into(), step: step.into() }
    }

    #[test]
    fn margins_that_meet_leave_one_plane() {
        let along = row([1.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        assert_eq!(along.inside([3, 3, 9], [1.0, 1.0, 0.0], 0..9), 0..9);
        assert!(along.inside([3, 3, 9], [1.0, 1.1, 0.0], 0..9).is_empty());
    }

    #[test]
    fn a_row_on_the_border_leaves_it_by_a_real_step_only() {
        let shape = [3000, 5, 5];
        // The step along y is a rounding error of the map.
        let parallel = row([0.0; 3], [1.0, -1e-13, 0.0]);
        assert_eq!(parallel.inside(shape, [0.0; 3], 0..2000), 0..2000);
        // The last of 2000 samples is 0.002 voxels outside.
        let oblique = row([0.0; 3], [1.0, -1e-6, 0.0]);
        assert_eq!(oblique.inside(shape, [0.0; 3], 0..2000), 0..1);
    }
}
