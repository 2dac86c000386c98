//! Volumes as lines along the phase encoding axis.

use antsreg_core::Grid;
use rayon::prelude::*;

/// Layout of a volume as lines along the phase encoding axis. In memory the position along the line runs fastest, then
/// the two other axes of the volume in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lines {
    /// The phase encoding axis of the volume, 0 to 2.
    pub axis: usize,
    /// Number of voxels along a line.
    pub cells: usize,
    /// Number of lines along each of the two other axes.
    pub across: [usize; 2],
    /// Voxel size along the line, then along the two other axes, mm.
    pub size_mm: [f64; 3],
}

impl Lines {
    pub fn of(grid: &Grid, axis: usize) -> Lines {
        let others = Lines::others(axis);
        Lines {
            axis,
            cells: grid.shape[axis],
            across: others.map(|other| grid.shape[other]),
            size_mm: [axis, others[0], others[1]].map(|axis| grid.spacing[axis]),
        }
    }

    /// The two axes across the lines.
    fn others(axis: usize) -> [usize; 2] {
        [usize::from(axis == 0), if axis == 2 { 1 } else { 2 }]
    }

    /// Number of lines.
    pub fn count(&self) -> usize {
        self.across[0] * self.across[1]
    }

    /// Number of faces of a line: the two ends, and the borders between voxels.
    pub fn faces(&self) -> usize {
        self.cells + 1
    }

    /// Number of voxels between two neighbours along each axis of the volume, in the order of `size_mm`.
    fn strides(&self) -> [usize; 3] {
        let mut shape = [0; 3];
        let others = Lines::others(self.axis);
        shape[self.axis] = self.cells;
        (0..2).for_each(|n| shape[others[n]] = self.across[n]);
        let stride = |axis: usize| shape[..axis].iter().product();
        [stride(self.axis), stride(others[0]), stride(others[1])]
    }

    /// Index in the volume of the first voxel of a line, and the distance of the line's voxels in memory.
    pub fn place(&self, line: usize) -> [usize; 2] {
        let [along, b, c] = self.strides();
        [(line % self.across[0]) * b + (line / self.across[0]) * c, along]
    }

    /// Orders voxels of a volume as lines.
    pub fn gather(&self, voxels: &[f32]) -> Vec<f64> {
        let mut out = vec![0.0; self.cells * self.count()];
        out.par_chunks_mut(self.cells).enumerate().for_each(|(line, out)| {
            let [start, step] = self.place(line);
            out.iter_mut().enumerate().for_each(|(n, out)| *out = f64::from(voxels[start + n * step]));
        });
        out
    }

    /// Orders values of lines as voxels of a volume.
    pub fn scatter(&self, values: &[f64]) -> Vec<f32> {
        let mut out = vec![0.0; values.len()];
        for (line, values) in values.chunks(self.cells).enumerate() {
            let [start, step] = self.place(line);
            values.iter().enumerate().for_each(|(n, value)| out[start + n * step] = *value as f32);
        }
        out
    }

    /// Interpolates values at the faces of another layout of the same box linearly at the faces of this layout.
    pub fn resized(&self, from: &Lines, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.faces() * self.count()];
        let along = self.cells as f64;
        let near = |at: f64, count: usize| {
            let at = at.clamp(0.0, (count - 1) as f64);
            let first = (at as usize).min(count.saturating_sub(2));
            (first, (first + 1).min(count - 1), at - first as f64)
        };
        let across = |n: usize, index: usize| {
            let ratio = from.across[n] as f64 / self.across[n] as f64;
            near((index as f64 + 0.5) * ratio - 0.5, from.across[n])
        };
        out.par_chunks_mut(self.faces()).enumerate().for_each(|(line, out)| {
            let (b, c) = (across(0, line % self.across[0]), across(1, line / self.across[0]));
            let row = |b: usize, c: usize| &values[(b + c * from.across[0]) * from.faces()..][..from.faces()];
            let rows = [(row(b.0, c.0), (1.0 - b.2) * (1.0 - c.2)), (row(b.1, c.0), b.2 * (1.0 - c.2))];
            let more = [(row(b.0, c.1), (1.0 - b.2) * c.2), (row(b.1, c.1), b.2 * c.2)];
            for (face, out) in out.iter_mut().enumerate() {
                let (first, second, share) = near(face as f64 * from.cells as f64 / along, from.faces());
                let one = |(row, weight): &(&[f64], f64)| weight * (row[first] + share * (row[second] - row[first]));
                *out = rows.iter().chain(&more).map(one).sum();
            }
        });
        out
    }
}

/// The sum of a value of each line, in the order of the lines: the same bits for any number of threads.
pub(crate) fn sum_over(lines: usize, value: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    let all: Vec<f64> = (0..lines).into_par_iter().map(value).collect();
    all.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voxels_are_ordered_as_lines_and_back() {
        let grid = Grid::axis_aligned([3, 4, 5], [1.0, 2.0, 3.0]);
        let voxels: Vec<f32> = (0..60).map(|n| n as f32).collect();
        for (axis, second) in [(0, 1.0), (1, 3.0), (2, 12.0)] {
            let lines = Lines::of(&grid, axis);
            let gathered = lines.gather(&voxels);
            assert_eq!(gathered[1], second, "axis {axis}");
            assert_eq!(lines.scatter(&gathered), voxels, "axis {axis}");
        }
    }

    #[test]
    fn linear_values_are_resized_exactly_inside() {
        let coarse = Lines::of(&Grid::axis_aligned([4, 6, 8], [4.0; 3]), 0);
        let fine = Lines::of(&Grid::axis_aligned([8, 12, 16], [2.0; 3]), 0);
        let value = |lines: &Lines, n: usize| {
            let (line, face) = (n / lines.faces(), n % lines.faces());
            let centre = |index: usize, size: f64| (index as f64 + 0.5) * size;
            let [h, hb, hc] = lines.size_mm;
            3.0 * face as f64 * h - centre(line % lines.across[0], hb) + 2.0 * centre(line / lines.across[0], hc)
        };
        let values: Vec<f64> = (0..coarse.faces() * coarse.count()).map(|n| value(&coarse, n)).collect();
        let resized = fine.resized(&coarse, &values);
        for (n, found) in resized.iter().enumerate() {
            let line = n / fine.faces();
            let border = |at: usize, count: usize| at == 0 || at + 1 == count;
            if !border(line % 12, 12) && !border(line / 12, 16) {
                assert!((found - value(&fine, n)).abs() < 1e-9, "{n}: {found}");
            }
        }
    }
}
