//! Windows: boxes of an image's voxels around the brain, in which the edge of the brain is searched for.

use antsreg_core::{AffineTransform, Grid, Volume};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

/// A box of voxels of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    whole: [usize; 3],
    low: [usize; 3],
    shape: [usize; 3],
}

impl Window {
    /// Returns the box of voxels of a grid that contains the brain (above 0.5) of a template, mapped to the grid by an
    /// affine, with a margin of `margin_mm`. `None` if no voxel of the grid lies in the box.
    pub fn around(grid: &Grid, brain: &Volume, affine: &AffineTransform, margin_mm: f64) -> Option<Window> {
        let [nx, ny, _] = brain.grid.shape;
        let index = grid.world_to_voxel().after(affine).after(&brain.grid.voxel_to_world());
        let none = (Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY));
        // Only the first and the last brain voxel of each row are mapped: an affine maps the other voxels of the row
        // between them.
        let of_row = |(row, voxels): (usize, &[f32])| {
            let inside = |share: &f32| *share > 0.5;
            let ends = [voxels.iter().position(inside), voxels.iter().rposition(inside)];
            ends.into_iter().flatten().fold(none, |(low, high), x| {
                let at = index.apply(&Point3::new(x as f64, (row % ny) as f64, (row / ny) as f64)).coords;
                (low.inf(&at), high.sup(&at))
            })
        };
        let rows = brain.voxels.par_chunks(nx).enumerate().with_min_len(64);
        let (low, high) = rows.map(of_row).reduce(|| none, |a, b| (a.0.inf(&b.0), a.1.sup(&b.1)));
        let margin = grid.spacing.map(|mm| margin_mm / mm);
        let (low, high) = ((low - margin).map(f64::floor), (high + margin).map(f64::ceil));
        let holds = |axis: usize| low[axis] < grid.shape[axis] as f64 && high[axis] >= 0.0 && low[axis] <= high[axis];
        if !(0..3).all(holds) {
            return None;
        }
        let low = [0, 1, 2].map(|axis| low[axis].max(0.0) as usize);
        let shape = [0, 1, 2].map(|axis| (high[axis] as usize + 1).min(grid.shape[axis]) - low[axis]);
        Some(Window { whole: grid.shape, low, shape })
    }

    /// Returns the box of voxels that contains a set of voxels of a grid, with a margin of `margin_mm`. `None` for an
    /// empty set.
    pub fn around_set(grid: &Grid, set: &[bool], margin_mm: f64) -> Option<Window> {
        let [low, high] = grid.bounds_of(set, |inside| *inside)?;
        let margin = [0, 1, 2].map(|axis| (margin_mm / grid.spacing[axis]).ceil() as usize);
        let low = [0, 1, 2].map(|axis| low[axis].saturating_sub(margin[axis]));
        let shape = [0, 1, 2].map(|axis| (high[axis] + margin[axis] + 1).min(grid.shape[axis]) - low[axis]);
        Some(Window { whole: grid.shape, low, shape })
    }

    /// Returns the box of voxels, in the volume of this window, of a window of this window's voxels.
    pub fn inner(&self, inner: &Window) -> Window {
        Window { low: [0, 1, 2].map(|axis| self.low[axis] + inner.low[axis]), shape: inner.shape, whole: self.whole }
    }

    /// Returns the part of a volume inside this window.
    pub fn cut(&self, volume: &Volume) -> Volume {
        Volume { grid: self.grid(&volume.grid), voxels: self.cut_voxels(&volume.voxels) }
    }

    /// Returns the values of the voxels inside this window.
    pub fn cut_voxels<T: Copy + Default + Send + Sync>(&self, voxels: &[T]) -> Vec<T> {
        let (width, rows) = (self.shape[0], self.shape[1]);
        let mut cut = vec![T::default(); self.shape.iter().product()];
        cut.par_chunks_mut(width).enumerate().with_min_len(64).for_each(|(row, part)| {
            let first = self.first(row % rows, row / rows);
            part.copy_from_slice(&voxels[first..first + width]);
        });
        cut
    }

    /// The grid of the voxels of this window, which is a part of the grid `whole`.
    fn grid(&self, whole: &Grid) -> Grid {
        let low = Point3::from(Vector3::from(self.low.map(|n| n as f64)));
        Grid { shape: self.shape, origin: whole.voxel_to_world().apply(&low), ..whole.clone() }
    }

    /// Returns a volume on the grid `whole`, with the values of `part` inside this window (box of voxels), each converted
    /// by `value`, and 0 elsewhere.
    pub fn paste<T: Sync>(&self, part: &[T], whole: &Grid, value: impl Fn(&T) -> f32 + Sync) -> Volume {
        let (width, rows) = (self.shape[0], self.shape[1]);
        let mut volume = Volume::filled(whole.clone(), 0.0);
        let slice = self.whole[0] * self.whole[1];
        let slices = volume.voxels.par_chunks_mut(slice).skip(self.low[2]).zip(part.par_chunks(width * rows));
        slices.for_each(|(slice, part)| {
            for (y, part) in part.chunks(width).enumerate() {
                let first = (self.low[1] + y) * self.whole[0] + self.low[0];
                slice[first..first + width].iter_mut().zip(part).for_each(|(voxel, part)| *voxel = value(part));
            }
        });
        volume
    }

    /// Index, in the memory of the whole image, of the window's first voxel in row `y` of slice `z`. The window is a
    /// box of voxels.
    fn first(&self, y: usize, z: usize) -> usize {
        ((self.low[2] + z) * self.whole[1] + self.low[1] + y) * self.whole[0] + self.low[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_where_it_was() {
        let grid = Grid::axis_aligned([9, 8, 7], [1.0, 2.0, 3.0]);
        let voxels = (1..=grid.len()).map(|n| n as f32).collect();
        let image = Volume { grid: grid.clone(), voxels };
        let mut brain = Volume::filled(Grid::axis_aligned([3, 3, 3], [2.0; 3]), 0.0);
        brain.voxels[13] = 1.0;
        // The only brain voxel, at 2 mm on each axis, is mapped to 5 mm. With the margin of 1.9 mm, the window must
        // reach from 3.1 to 6.9 mm.
        let affine = AffineTransform { translation: Vector3::repeat(3.0), ..AffineTransform::identity() };
        let window = Window::around(&grid, &brain, &affine, 1.9).expect("within the grid");
        assert_eq!((window.low, window.shape), ([3, 1, 1], [5, 4, 3]));
        let part = window.cut(&image);
        assert_eq!(part.grid.origin, Point3::new(3.0, 2.0, 3.0));
        let pasted = window.paste(&part.voxels, &grid, |value| *value);
        for n in 0..grid.len() {
            let at = [n % 9, n / 9 % 8, n / 72];
            let inside = (3..8).contains(&at[0]) && (1..5).contains(&at[1]) && (1..4).contains(&at[2]);
            assert_eq!(pasted.voxels[n], if inside { image.voxels[n] } else { 0.0 }, "{at:?}");
        }
        let set: Vec<bool> =
            (0..grid.len()).map(|n| (n % 9, n / 72) == (4, 3) && (4..7).contains(&(n / 9 % 8))).collect();
        let inner = Window::around_set(&grid, &set, 3.5).expect("voxels");
        assert_eq!((inner.low, inner.shape), ([0, 2, 1], [9, 6, 5]));
        assert_eq!(Window::around_set(&grid, &vec![false; grid.len()], 3.5), None);
        let within = Window { low: [1, 0, 1], shape: [3, 2, 2], whole: window.shape };
        assert_eq!(within.cut(&part), window.inner(&within).cut(&image));
        assert_eq!(window.inner(&within).whole, image.grid.shape);
        let far = AffineTransform { translation: Vector3::repeat(90.0), ..AffineTransform::identity() };
        assert_eq!(Window::around(&grid, &brain, &far, 1.9), None);
    }
}
