//! The backdrop of an image: the parts where all voxels have the value of the first voxel, so that samples are known
//! without reading the image. Most of a brain image is such background.
//!
//! The image is divided into blocks of cells. A summed-area table counts the blocks that contain a value other than the
//! backdrop's, so that a few look-ups show whether a box of blocks is backdrop.

use std::ops::Range;

use rayon::prelude::*;

use crate::cpu::rows::Row;

/// The image is divided into blocks of 8×8×8 cells, where a cell lies between eight voxels. The summed-area table
/// counts these blocks.
const BLOCK: usize = 8;

/// The parts of an image that have only one value, the value of its first voxel.
#[derive(Debug)]
pub(in crate::cpu) struct Backdrop {
    pub value: f32,
    /// Number of entries of the summed-area table along each axis: number of blocks + 1.
    size: [usize; 3],
    /// The summed-area table. Its entry for a corner where blocks meet counts the blocks that have lower indices along
    /// all axes and contain a value other than the backdrop's.
    filled: Vec<u32>,
}

impl Backdrop {
    pub fn of(shape: [usize; 3], voxels: &[f32]) -> Backdrop {
        let value = voxels.first().copied().unwrap_or(0.0);
        let blocks = shape.map(|n| n.saturating_sub(1).div_ceil(BLOCK).max(1));
        let layers: Vec<Vec<bool>> =
            (0..blocks[2]).into_par_iter().map(|layer| filled_blocks(shape, voxels, value, blocks, layer)).collect();
        let size = blocks.map(|n| n + 1);
        let mut filled = vec![0u32; size.iter().product()];
        let (row, plane) = (size[0], size[0] * size[1]);
        for (k, layer) in layers.iter().enumerate() {
            for j in 0..blocks[1] {
                let mut before = 0;
                for i in 0..blocks[0] {
                    before += u32::from(layer[i + j * blocks[0]]);
                    let corner = i + 1 + row * (j + 1) + plane * (k + 1);
                    // Entry of the summed-area table: the number of blocks that have lower indices than this corner
                    // along all axes and contain a value other than the backdrop's. `before` is their number in the
                    // present row of blocks; earlier entries count those in the other rows.
                    filled[corner] =
                        before + filled[corner - row] + filled[corner - plane] - filled[corner - row - plane];
                }
            }
        }
        Backdrop { value, size, filled }
    }

    /// Whether all samples of part of a row have the backdrop's value, which is the value of the image's first voxel.
    /// The samples lie inside the image.
    #[inline(always)]
    pub fn covers(&self, row: &Row, range: &Range<usize>) -> bool {
        let cell = |x: usize| std::array::from_fn(|axis| (row.start[axis] + x as f64 * row.step[axis]) as i32);
        self.covers_cells(cell(range.start), cell(range.end - 1))
    }

    /// Whether the image has only the backdrop's value, the value of its first voxel, in a box of cells. A cell lies
    /// between eight neighbouring voxels. The cells `one` and `other` are opposite corners of the box.
    #[inline(always)]
    pub fn covers_cells(&self, one: [i32; 3], other: [i32; 3]) -> bool {
        let (mut low, mut high) = ([0; 3], [0; 3]);
        for axis in 0..3 {
            let (first, last) = (one[axis], other[axis]);
            let top = self.size[axis] - 2;
            low[axis] = (first.min(last).max(0) as usize / BLOCK).min(top);
            high[axis] = (first.max(last).max(0) as usize / BLOCK).min(top) + 1;
        }
        let [row, plane] = [self.size[0], self.size[0] * self.size[1]];
        let at = |i: usize, j: usize, k: usize| self.filled[i + row * j + plane * k];
        let face = |k: usize| {
            (at(high[0], high[1], k) + at(low[0], low[1], k)) - (at(low[0], high[1], k) + at(high[0], low[1], k))
        };
        face(high[2]) == face(low[2])
    }
}

/// For each block of cells in a layer of blocks, whether the block contains a value other than `value`. The voxels at
/// the upper faces of a block belong to its cells.
fn filled_blocks(
    [nx, ny, nz]: [usize; 3],
    voxels: &[f32],
    value: f32,
    blocks: [usize; 3],
    layer: usize,
) -> Vec<bool> {
    let mut filled = vec![false; blocks[0] * blocks[1]];
    for k in layer * BLOCK..((layer + 1) * BLOCK + 1).min(nz) {
        for j in 0..ny {
            let row = &voxels[nx * (j + ny * k)..][..nx];
            // The image is divided into blocks of cells. A row of voxels on the face between two blocks belongs to
            // both, so it is examined for both.
            let of_row = [Some(j / BLOCK), (j % BLOCK == 0 && j > 0).then(|| j / BLOCK - 1)];
            for block_j in of_row.into_iter().flatten().filter(|block_j| *block_j < blocks[1]) {
                let flags = &mut filled[block_j * blocks[0]..][..blocks[0]];
                for (block_i, flag) in flags.iter_mut().enumerate().filter(|(_, flag)| !**flag) {
                    let voxels = &row[block_i * BLOCK..((block_i + 1) * BLOCK + 1).min(nx)];
                    *flag = voxels.iter().fold(false, |any, voxel| any | (*voxel != value));
                }
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::*;

    /// The backdrop of an image of one value, with another value in the voxels `others`.
    fn marked(shape: [usize; 3], others: &[[usize; 3]]) -> Backdrop {
        let mut voxels = vec![1.5; shape.iter().product()];
        for [x, y, z] in others {
            voxels[x + shape[0] * (y + shape[1] * z)] = 2.0;
        }
        Backdrop::of(shape, &voxels)
    }

    #[test]
    fn boxes_are_covered_if_their_blocks_have_one_value() {
        let shape = [34, 17, 26];
        let mut state = 1_u64;
        let mut below = |count: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % count
        };
        let (mut covered, mut others) = (0, 0);
        for _ in 0..200 {
            // Half of the coordinates are at faces between blocks.
            let mut place = |n: usize| if below(2) == 0 { below(n) } else { 8 * below(n.div_ceil(8)) };
            let mut different = [0; 3].map(|_| shape.map(&mut place));
            different[0][0] += 1;
            different.iter_mut().for_each(|voxel| voxel[0] = voxel[0].clamp(1, shape[0] - 1));
            let backdrop = marked(shape, &different);
            for _ in 0..50 {
                // The cells of positions at the border may be one cell outside.
                let [one, other] = [0; 2].map(|_| shape.map(|n| below(n + 1) as i32 - 1));
                let is_in_box = |voxel: &[usize; 3]| {
                    (0..3).all(|axis| {
                        let block = |cell: i32| cell.clamp(0, shape[axis] as i32 - 2) as usize / 8;
                        let (low, high) = (block(one[axis].min(other[axis])), block(one[axis].max(other[axis])));
                        (8 * low..=8 * (high + 1)).contains(&voxel[axis])
                    })
                };
                let expected = !different.iter().any(is_in_box);
                assert_eq!(backdrop.covers_cells(one, other), expected, "{different:?}: {one:?} to {other:?}");
                *(if expected { &mut covered } else { &mut others }) += 1;
            }
        }
        assert!(covered > 1000 && others > 1000, "{covered} covered, {others} others");
    }

    #[test]
    fn a_row_is_covered_up_to_its_last_sample() {
        let backdrop = marked([30, 9, 9], &[[12, 3, 3]]);
        let row = Row { start: Vector3::new(0.5, 2.0, 2.0), step: Vector3::new(1.0, 0.0, 0.0) };
        // The last samples are in the cells 7, the last of the first block, and 8.
        assert!(backdrop.covers(&row, &(0..8)));
        assert!(!backdrop.covers(&row, &(0..9)));
        assert!(!backdrop.covers(&row, &(12..13)));
        assert!(backdrop.covers(&row, &(16..20)));
    }
}
