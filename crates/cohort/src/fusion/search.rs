//! Local search: finds the shift, within a radius, at which a patch of an atlas is most similar to the target's
//! patch. The search corrects small errors of the registration.

use super::block::{BLOCK, Patches, Region};

/// Total number of voxels of a block.
pub(super) const BLOCK_LEN: usize = BLOCK[0] * BLOCK[1] * BLOCK[2];

/// A row of numbers: one for each voxel along the first axis of a block of voxels.
type Row = [f32; BLOCK[0]];

/// All shifts of at most `radius` voxels along each axis, sorted by length, shortest first.
pub(super) fn shifts(radius: usize) -> Vec<[i32; 3]> {
    let radius = radius as i32;
    let range = || -radius..=radius;
    let mut shifts: Vec<[i32; 3]> =
        range().flat_map(|z| range().flat_map(move |y| range().map(move |x| [x, y, z]))).collect();
    shifts.sort_by_key(|shift| shift.iter().map(|along| along * along).sum::<i32>());
    shifts
}

/// The best shift of an atlas for every voxel of a block.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// For each voxel of the block: the index of its best shift in the list of [`shifts`].
    pub(super) best: Vec<u32>,
    score: Vec<f32>,
    products: Vec<f32>,
    along_x: Vec<Row>,
    along_y: Vec<Row>,
}

impl Search {
    /// Finds, for each voxel of a block, the shift with the largest correlation between the target's patch and the
    /// shifted patch of the atlas. A flat patch has correlation 0. Of shifts with equal correlations, the shortest is
    /// taken.
    ///
    /// `target` contains the block with a margin of the patch radius, `atlas` with a margin of patch radius plus search
    /// radius. The sums of products over a patch are computed along one axis after the other: 15 additions instead of
    /// 125 for patches of 5 × 5 × 5 voxels.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        (target, target_patches): (&Region, &Patches),
        (atlas, atlas_patches): (&Region, &Patches),
        width: usize,
        radius: usize,
        shifts: &[[i32; 3]],
    ) {
        let [nx, ny, nz] = target.shape;
        let [ax, ay, _] = atlas.shape;
        self.best.clear();
        self.best.resize(BLOCK_LEN, 0);
        self.score.clear();
        self.score.resize(BLOCK_LEN, f32::NEG_INFINITY);
        self.products.resize(nx, 0.0);
        self.along_x.resize(ny, [0.0; BLOCK[0]]);
        self.along_y.resize(nz * BLOCK[1], [0.0; BLOCK[0]]);
        let voxels = (width * width * width) as f32;
        for (number, shift) in shifts.iter().enumerate() {
            let [ox, oy, oz] = shift.map(|along| (along + radius as i32) as usize);
            for z in 0..nz {
                for y in 0..ny {
                    let here = &target.values[(z * ny + y) * nx..][..nx];
                    let there = &atlas.values[((z + oz) * ay + y + oy) * ax + ox..][..nx];
                    for ((product, here), there) in self.products.iter_mut().zip(here).zip(there) {
                        *product = here * there;
                    }
                    let mut sum = [0.0; BLOCK[0]];
                    for step in 0..width {
                        add(&mut sum, &self.products[step..]);
                    }
                    self.along_x[y] = sum;
                }
                for y in 0..BLOCK[1] {
                    let mut sum = [0.0; BLOCK[0]];
                    self.along_x[y..y + width].iter().for_each(|row| add(&mut sum, row));
                    self.along_y[z * BLOCK[1] + y] = sum;
                }
            }
            let [px, py, _] = atlas_patches.shape;
            for z in 0..BLOCK[2] {
                for y in 0..BLOCK[1] {
                    let mut sum = [0.0; BLOCK[0]];
                    for step in 0..width {
                        add(&mut sum, &self.along_y[(z + step) * BLOCK[1] + y]);
                    }
                    let row = (z * BLOCK[1] + y) * BLOCK[0];
                    let at = ((z + oz) * py + y + oy) * px + ox;
                    let here = &target_patches.mean[row..][..BLOCK[0]];
                    let there = &atlas_patches.mean[at..][..BLOCK[0]];
                    let inverse_sd = &atlas_patches.inverse_sd[at..][..BLOCK[0]];
                    let score = &mut self.score[row..][..BLOCK[0]];
                    let best = &mut self.best[row..][..BLOCK[0]];
                    for x in 0..BLOCK[0] {
                        // Only the order of the correlations matters. The standard deviation of the target's patch is
                        // the same for all shifts, so the correlation is not divided by it.
                        let found = (sum[x] - voxels * here[x] * there[x]) * inverse_sd[x];
                        let better = found > score[x];
                        score[x] = if better { found } else { score[x] };
                        best[x] = if better { number as u32 } else { best[x] };
                    }
                }
            }
        }
        for (best, inverse_sd) in self.best.iter_mut().zip(&target_patches.inverse_sd) {
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
    fn shifts_come_nearest_first_and_each_once() {
        let shifts = shifts(3);
        assert_eq!(shifts.len(), 343);
        assert_eq!(shifts[0], [0; 3]);
        assert!(shifts[1..7].iter().all(|shift| shift.iter().map(|along| along.abs()).sum::<i32>() == 1));
        let mut sorted = shifts.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 343);
    }
}
