//! Local search: finds the shift at which a patch of an atlas is most similar to the target's patch.

use std::ops::Range;

use super::boxes::BoxOfImage;
use crate::fusion::{BLOCK, place};

/// A row of numbers: one for each voxel along the first axis of a block of voxels.
type Row = [f32; BLOCK[0]];

/// Number of rows of a block.
const ROWS: usize = BLOCK[1] * BLOCK[2];

/// The rows of a block and its margin that the search computes, because a patch needs them. A row goes along the first
/// axis, and is listed by its place along the two other axes, y and z.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Rows of the block with its margin for which products are summed along x.
    along_x: Vec<[usize; 2]>,
    /// Rows of the block with its margin along z for which these sums are summed along y.
    along_y: Vec<[usize; 2]>,
    /// Rows of the block with at least one patch.
    along_z: Vec<[usize; 2]>,
}

impl Rows {
    /// Lists the rows for the voxels of a block that have a patch, by their numbers in the block. Patches have `width`
    /// voxels along each axis.
    pub(super) fn list(&mut self, voxels: &[u16], width: usize) {
        let [ny, nz] = [1, 2].map(|axis| BLOCK[axis] + width - 1);
        let mut with_patches = [[false; BLOCK[1]]; BLOCK[2]];
        for [_, y, z] in voxels.iter().map(|number| place(usize::from(*number))) {
            with_patches[z][y] = true;
        }
        let any =
            |ys: Range<usize>, zs: Range<usize>| with_patches[zs].iter().any(|rows| rows[ys.clone()].contains(&true));
        // A patch whose first row is at `at` reaches the rows up to `at` + width − 1. So a row is needed by the patches
        // that begin in this range.
        let begins = |row: usize, count: usize| (row + 1).saturating_sub(width)..(row + 1).min(count);
        let list = |rows: &mut Vec<[usize; 2]>, [ny, nz]: [usize; 2], is_needed: &dyn Fn(usize, usize) -> bool| {
            rows.clear();
            rows.extend((0..ny * nz).map(|row| [row % ny, row / ny]).filter(|[y, z]| is_needed(*y, *z)));
        };
        list(&mut self.along_x, [ny, nz], &|y, z| any(begins(y, BLOCK[1]), begins(z, BLOCK[2])));
        list(&mut self.along_y, [BLOCK[1], nz], &|y, z| any(y..y + 1, begins(z, BLOCK[2])));
        list(&mut self.along_z, [BLOCK[1], BLOCK[2]], &|y, z| with_patches[z][y]);
    }
}

/// The best shift of an atlas for the voxels of a block.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// For each voxel, row by row: the index of its best shift in the list of shifts.
    best: Vec<[u32; BLOCK[0]]>,
    score: Vec<Row>,
    along_x: Vec<Row>,
    along_y: Vec<Row>,
}

impl Search {
    /// For a voxel of the block that has a patch, the index of its best shift in the list of shifts.
    #[inline(always)]
    pub(super) fn best(&self, voxel: usize) -> u16 {
        self.best[voxel / BLOCK[0]][voxel % BLOCK[0]] as u16
    }

    /// Finds, for each voxel of the block's rows, the shift with the largest correlation between the target's patch and the
    /// shifted patch of the atlas. Of shifts with equal correlations, the first is taken.
    ///
    /// `target` contains the block with a margin of the patch radius, `atlas` with a margin of patch radius plus search
    /// radius. The sums of products over a patch are computed along one axis after the other: 15 additions instead of
    /// 125 for patches of 5 × 5 × 5 voxels.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        target: &BoxOfImage,
        atlas: &BoxOfImage,
        rows: &Rows,
        width: usize,
        radius: usize,
        shifts: &[[i32; 3]],
    ) {
        let [nx, ny, nz] = target.shape;
        let [ax, ay, _] = atlas.shape;
        self.best.clear();
        self.best.resize(ROWS, [0; BLOCK[0]]);
        self.score.clear();
        self.score.resize(ROWS, [f32::NEG_INFINITY; BLOCK[0]]);
        self.along_x.resize(ny * nz, [0.0; BLOCK[0]]);
        self.along_y.resize(nz * BLOCK[1], [0.0; BLOCK[0]]);
        let voxels = (width * width * width) as f32;
        let [px, py, _] = atlas.patches;
        for (number, shift) in shifts.iter().enumerate() {
            let [ox, oy, oz] = shift.map(|along| (along + radius as i32) as usize);
            for [y, z] in &rows.along_x {
                let row = z * ny + y;
                let here = &target.values[row * nx..][..nx];
                let there = &atlas.values[((z + oz) * ay + y + oy) * ax + ox..][..nx];
                let mut sum = [0.0; BLOCK[0]];
                for (here, there) in here.windows(BLOCK[0]).zip(there.windows(BLOCK[0])) {
                    for (sum, (here, there)) in sum.iter_mut().zip(here.iter().zip(there)) {
                        *sum += here * there;
                    }
                }
                self.along_x[row] = sum;
            }
            for [y, z] in &rows.along_y {
                let mut sum = [0.0; BLOCK[0]];
                self.along_x[z * ny + y..][..width].iter().for_each(|row| add(&mut sum, row));
                self.along_y[z * BLOCK[1] + y] = sum;
            }
            for [y, z] in &rows.along_z {
                let row = z * BLOCK[1] + y;
                let mut sum = [0.0; BLOCK[0]];
                for step in 0..width {
                    add(&mut sum, &self.along_y[row + step * BLOCK[1]]);
                }
                let first = row * BLOCK[0];
                let at = ((z + oz) * py + y + oy) * px + ox;
                let here = &target.mean[first..][..BLOCK[0]];
                let there = &atlas.mean[at..][..BLOCK[0]];
                let inverse_sd = &atlas.inverse_sd[at..][..BLOCK[0]];
                // Copies of the rows are changed and written back whole, which takes less time than to write single
                // values.
                let (mut score, mut best) = (self.score[row], self.best[row]);
                for x in 0..BLOCK[0] {
                    // Only the order of the correlations matters. The standard deviation of the target's patch is the
                    // same for all shifts, so the correlation is not divided by it.
                    let found = (sum[x] - voxels * here[x] * there[x]) * inverse_sd[x];
                    let better = found > score[x];
                    score[x] = if better { found } else { score[x] };
                    best[x] = if better { number as u32 } else { best[x] };
                }
                (self.score[row], self.best[row]) = (score, best);
            }
        }
        for (best, inverse_sd) in self.best.as_flattened_mut().iter_mut().zip(&target.inverse_sd) {
            if *inverse_sd == 0.0 {
                *best = 0;
            }
        }
    }
}

#[inline(always)]
fn add(sum: &mut Row, row: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(&row[..BLOCK[0]]) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_rows_that_a_patch_needs_are_listed() {
        // Two voxels of one row, at y = 2 and z = 3, with patches of 3 × 3 × 3 voxels.
        let voxel = |x: usize| (x + BLOCK[0] * (2 + BLOCK[1] * 3)) as u16;
        let mut rows = Rows::default();
        rows.list(&[voxel(4), voxel(9)], 3);
        let reached: Vec<[usize; 2]> = (3..6).flat_map(|z| (2..5).map(move |y| [y, z])).collect();
        assert_eq!(rows.along_x, reached);
        assert_eq!(rows.along_y, [[2, 3], [2, 4], [2, 5]]);
        assert_eq!(rows.along_z, [[2, 3]]);
    }

    #[test]
    fn rows_are_added_number_by_number() {
        let mut sum: Row = std::array::from_fn(|x| x as f32);
        add(&mut sum, &[0.5; BLOCK[0]]);
        assert_eq!(sum, std::array::from_fn(|x| x as f32 + 0.5));
    }
}
