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
            if step == 0.0 || (step * within.end as f64).abs() < 1e-9 {
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
