//! The eight voxels around a fractional voxel index.

/// Whether an index belongs to an image by ITK's rule: −½ ≤ index < n − ½ on each axis. False for NaN.
#[inline]
pub fn is_inside(shape: [usize; 3], index: [f64; 3]) -> bool {
    (0..3).all(|axis| index[axis] >= -0.5 && index[axis] < shape[axis] as f64 - 0.5)
}

/// The eight voxels around a fractional index: their positions in memory, and the position of the index between them.
pub struct Cell {
    /// Position in memory of the voxel with the lowest indices among the eight neighbours of a point.
    pub base: usize,
    /// Distance in memory between two neighbours along each axis; 0 on an axis of one voxel.
    pub step: [usize; 3],
    /// Distance of the fractional index from the next lower voxel along each axis, 0…1.
    pub fraction: [f64; 3],
}

impl Cell {
    /// The cell of eight voxels around an index that [is inside](is_inside) the image. Beyond the outermost voxel
    /// centres the border value continues.
    #[inline]
    pub fn around(shape: [usize; 3], index: [f64; 3]) -> Cell {
        let stride = [1, shape[0], shape[0] * shape[1]];
        let mut cell = Cell { base: 0, step: [0; 3], fraction: [0.0; 3] };
        for axis in 0..3 {
            let clamped = index[axis].clamp(0.0, shape[axis] as f64 - 1.0);
            let lower = (clamped as usize).min(shape[axis].saturating_sub(2));
            cell.base += lower * stride[axis];
            cell.step[axis] = if shape[axis] > 1 { stride[axis] } else { 0 };
            cell.fraction[axis] = clamped - lower as f64;
        }
        cell
    }

    /// Positions in memory of the eight voxels that surround a point, x fastest.
    #[inline]
    pub fn corners(&self) -> [usize; 8] {
        let [x, y, z] = self.step;
        [0, x, y, x + y, z, x + z, y + z, x + y + z].map(|offset| self.base + offset)
    }

    /// Trilinear interpolation weights of the eight voxels that surround a point, in the order of
    /// [`corners`](Self::corners).
    #[inline]
    pub fn weights(&self) -> [f64; 8] {
        let [x, y, z] = self.fraction;
        let (near_x, near_y, near_z) = (1.0 - x, 1.0 - y, 1.0 - z);
        let [a, b, c, d] = [near_y * near_z, y * near_z, near_y * z, y * z];
        [near_x * a, x * a, near_x * b, x * b, near_x * c, x * c, near_x * d, x * d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_voxel_outside_belongs_to_the_image_below_but_not_above() {
        let shape = [3, 4, 5];
        for axis in 0..3 {
            let at = |along: f64| {
                let mut index = [1.0; 3];
                index[axis] = along;
                is_inside(shape, index)
            };
            let end = shape[axis] as f64 - 0.5;
            assert!(at(-0.5) && at(0.0) && at(end.next_down()), "axis {axis}");
            assert!(!at((-0.5f64).next_down()) && !at(end) && !at(f64::NAN), "axis {axis}");
        }
    }
}
