//! Finds the voxels where the atlases disagree.

use antsreg_core::same_grid::same_grid;
use antsreg_core::{Grid, LabelVolume};
use rayon::prelude::*;

use super::error::FusionError;

/// Checks that the image or label map of an atlas lies on `grid`. `number` is the number of the atlas, counted from 0.
pub(super) fn check_grid(number: usize, grid: &Grid, found: &Grid) -> Result<(), FusionError> {
    same_grid("the target and the atlas", grid, found)
        .map_err(|source| FusionError::Grid { number: number + 1, source })
}

/// For each voxel, whether the label maps have different labels there.
pub(super) fn undecided(labels: &[&LabelVolume]) -> Vec<bool> {
    let Some((first, others)) = labels.split_first() else { return Vec::new() };
    let disagree = |voxel: usize| others.iter().any(|other| other.voxels[voxel] != first.voxels[voxel]);
    (0..first.voxels.len()).into_par_iter().with_min_len(1 << 14).map(disagree).collect()
}

/// Dilates the voxel mask `set` by a cube that reaches `radius` voxels in each direction.
pub(super) fn dilate(set: &[bool], shape: [usize; 3], radius: usize) -> Vec<bool> {
    let [nx, ny, nz] = shape;
    let mut along_x = vec![false; set.len()];
    along_x.par_chunks_mut(nx).zip(set.par_chunks(nx)).with_min_len(64).for_each(|(grown, row)| {
        let mut end = 0;
        for x in (0..nx).filter(|x| row[*x]) {
            let start = x.saturating_sub(radius).max(end);
            end = (x + radius + 1).min(nx);
            grown[start..end].fill(true);
        }
    });
    let along_y = any_of_rows(&along_x, nx, |row| {
        let (first, y) = (row - row % ny, row % ny);
        first + y.saturating_sub(radius)..first + (y + radius + 1).min(ny)
    });
    any_of_rows(&along_y, nx, |row| {
        let (y, z) = (row % ny, row / ny);
        (z.saturating_sub(radius)..(z + radius + 1).min(nz)).map(move |z| z * ny + y)
    })
}

/// Combines rows of `nx` voxels: each voxel of a row of the result is set if this voxel of any row in `rows` is set.
fn any_of_rows<R: Iterator<Item = usize>>(set: &[bool], nx: usize, rows: impl Fn(usize) -> R + Sync) -> Vec<bool> {
    let mut grown = vec![false; set.len()];
    grown.par_chunks_mut(nx).enumerate().with_min_len(64).for_each(|(row, grown)| {
        for near in rows(row) {
            grown.iter_mut().zip(&set[near * nx..][..nx]).for_each(|(grown, near)| *grown |= near);
        }
    });
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dilation_reaches_a_cube_and_stays_inside() {
        let shape = [5, 4, 3];
        let mut set = vec![false; 60];
        let centre = [3usize, 3, 2];
        set[(centre[2] * shape[1] + centre[1]) * shape[0] + centre[0]] = true;
        let grown = dilate(&set, shape, 1);
        for (voxel, found) in grown.iter().enumerate() {
            let place = [voxel % 5, voxel / 5 % 4, voxel / 20];
            let near = (0..3).all(|axis| centre[axis].abs_diff(place[axis]) <= 1);
            assert_eq!(*found, near, "{place:?}");
        }
    }
}
