//! Finds the voxels where the atlases disagree.

use antsreg_core::{Grid, LabelVolume};
use rayon::prelude::*;

use super::error::FusionError;

/// Two grids count as equal if corresponding voxels are at most this far apart. The unit is the smallest voxel spacing.
/// The tolerance allows for rounding in headers, which store single-precision numbers.
const SAME_GRID_VOXELS: f64 = 1e-2;

/// Checks that the image or label map of an atlas lies on `grid`. `number` is the number of the atlas, counted from 0.
pub(super) fn check_grid(number: usize, grid: &Grid, found: &Grid) -> Result<(), FusionError> {
    if grid.matches(found, SAME_GRID_VOXELS * grid.spacing.min()) {
        return Ok(());
    }
    let grids = [Box::new(grid.clone()), Box::new(found.clone())];
    let source = antsreg_core::GridMismatch { what: "the target and the atlas", grids };
    Err(FusionError::Grid { number: number + 1, source })
}

/// For each voxel, whether the label maps have different labels there.
pub(super) fn undecided(labels: &[&LabelVolume]) -> Vec<bool> {
    let Some((first, others)) = labels.split_first() else { return Vec::new() };
    let disagree = |voxel: usize| others.iter().any(|other| other.voxels[voxel] != first.voxels[voxel]);
    (0..first.voxels.len()).into_par_iter().with_min_len(1 << 14).map(disagree).collect()
}

/// Dilates the voxel mask `set` by a cube that reaches `radius` voxels in each direction.
pub(super) fn dilate(set: &[bool], shape: [usize; 3], radius: usize) -> Vec<bool> {
    let [nx, ny, _] = shape;
    let mut grown = set.to_vec();
    for (axis, stride) in [1, nx, nx * ny].into_iter().enumerate() {
        let before = grown;
        let near = |voxel: usize| {
            let at = voxel / stride % shape[axis];
            let (down, up) = (radius.min(at), radius.min(shape[axis] - 1 - at));
            (voxel - down * stride..=voxel + up * stride).step_by(stride).any(|near| before[near])
        };
        grown = (0..set.len()).into_par_iter().with_min_len(1 << 14).map(near).collect();
    }
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
