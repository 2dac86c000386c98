//! Tables for the kernels that use `cu/brick.cuh`: the fixed bins in the order of bricks (small boxes of voxels), and
//! the cells where the moving image has only its background value.

use antsreg_kernels::cuda::extension::Argument;
use rayon::prelude::*;

use super::layout::Size;

/// Number of voxels of a brick (a small box of voxels) along each axis, as in `bricks.cuh` of the crate
/// antsreg-kernels.
const BRICK: [usize; 3] = [8, 8, 4];
/// Total number of voxels of a brick (a box of 8×8×4 voxels).
const BRICK_VOXELS: usize = BRICK[0] * BRICK[1] * BRICK[2];
/// Number of consecutive bricks (boxes of 8×8×4 voxels) that a thread block processes at a time.
const RUN: usize = 8;
/// Mark for a position of a brick (a box of 8×8×4 voxels) that lies outside the volume. In the list of fixed bins, it
/// stands in place of the voxel's bin.
const NOT_COUNTED: u16 = u16::MAX;
/// The moving image is divided into cells, to find out where it has only its background value. This is the number of
/// voxels of a cell along each axis.
const CELL: usize = 2;
/// Largest stored distance from a cell to the nearest cell that is not empty (has other values than the background), in
/// cells. Larger distances are stored as this value.
const FAR: u16 = 16;
/// Largest number of voxels that are sampled to estimate the most frequent value of an image.
const POLL: usize = 4096;

/// Kernel argument with the tables that say which bricks (boxes of 8×8×4 voxels) can be skipped. The memory layout is
/// that of the structure `Bricks` in `cu/brick.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct BrickTables {
    pub(super) fixed: u64,
    pub(super) distance: u64,
    pub(super) count: Size,
    pub(super) cells: Size,
    pub(super) common: f32,
    pub(super) hot: i32,
}
impl Argument for BrickTables {}

/// Number of bricks (boxes of 8×8×4 voxels) along each axis that are needed to cover a volume.
pub(super) fn count(shape: [usize; 3]) -> [usize; 3] {
    std::array::from_fn(|axis| shape[axis].div_ceil(BRICK[axis]))
}

/// Number of thread blocks for the bricks (boxes of 8×8×4 voxels) of a volume. It is `requested`, but high enough that
/// no block gets more than `most_voxels`. It is at most the number of runs: a run is a group of [`RUN`] bricks that a
/// block processes at a time.
pub(super) fn blocks(shape: [usize; 3], requested: usize, most_voxels: usize) -> usize {
    let runs = count(shape).iter().product::<usize>().div_ceil(RUN);
    let most_runs = most_voxels / (RUN * BRICK_VOXELS);
    requested.min(runs).max(runs.div_ceil(most_runs))
}

/// Returns the bins of the fixed voxels, grouped by bricks (boxes of 8×8×4 voxels). Within a brick, the bins that one
/// thread of a GPU warp (32 threads) reads follow each other.
pub(super) fn in_bricks(shape: [usize; 3], voxel_bins: &[u16]) -> Vec<u16> {
    let [columns, rows, layers] = count(shape);
    let place = |at: usize| {
        let (brick, lane, step) = (at / BRICK_VOXELS, at % BRICK_VOXELS / 8, at % 8);
        [
            brick % columns * BRICK[0] + lane % 8,
            brick / columns % rows * BRICK[1] + lane / 8 + step % 2 * 4,
            brick / columns / rows * BRICK[2] + step / 2,
        ]
    };
    let bin = |at: usize| {
        let [x, y, z] = place(at);
        let inside = x < shape[0] && y < shape[1] && z < shape[2];
        if inside { voxel_bins[(z * shape[1] + y) * shape[0] + x] } else { NOT_COUNTED }
    };
    (0..columns * rows * layers * BRICK_VOXELS).into_par_iter().map(bin).collect()
}

/// For every cell (2×2×2 voxels) of the moving image, the distance to the nearest cell that is not empty. A cell is
/// empty if all its voxels have the background value.
pub(super) struct Emptiness {
    /// The background value: the most frequent value, estimated from a sample of voxels.
    pub(super) common: f32,
    pub(super) cells: [usize; 3],
    /// For each cell, the distance to the nearest cell with another value than the background, in cells.
    pub(super) distance: Vec<u16>,
}

impl Emptiness {
    pub(super) fn of(shape: [usize; 3], voxels: &[f32]) -> Emptiness {
        let common = commonest(voxels);
        let cells: [usize; 3] = shape.map(|n| n.div_ceil(CELL));
        let row = |row: usize| {
            let (j, k) = (row % cells[1], row / cells[1]);
            let mut full = vec![FAR; cells[0]];
            for z in CELL * k..(CELL * (k + 1)).min(shape[2]) {
                for y in CELL * j..(CELL * (j + 1)).min(shape[1]) {
                    let start = (z * shape[1] + y) * shape[0];
                    for (x, value) in voxels[start..start + shape[0]].iter().enumerate() {
                        if *value != common {
                            full[x / CELL] = 0;
                        }
                    }
                }
            }
            full
        };
        let mut distance: Vec<u16> = (0..cells[1] * cells[2]).into_par_iter().flat_map_iter(row).collect();
        // A distance by the maximum norm can be computed axis by axis, so one pass over the cells for each axis is
        // enough.
        for (axis, stride) in [1, cells[0], cells[0] * cells[1]].into_iter().enumerate() {
            let along = |at: usize| {
                let here = at / stride % cells[axis];
                let (from, to) =
                    (here.saturating_sub(usize::from(FAR)), (here + usize::from(FAR)).min(cells[axis] - 1));
                let other =
                    |other: usize| distance[at - here * stride + other * stride].max(other.abs_diff(here) as u16);
                (from..=to).map(other).min().unwrap_or(FAR).min(FAR)
            };
            distance = (0..distance.len()).into_par_iter().map(along).collect();
        }
        Emptiness { common, cells, distance }
    }
}

/// The most frequent value among voxels at equal distances in memory: an estimate of the image's background value.
fn commonest(voxels: &[f32]) -> f32 {
    let mut poll: Vec<f32> = voxels.iter().step_by(voxels.len().div_ceil(POLL).max(1)).copied().collect();
    poll.sort_by(f32::total_cmp);
    let groups = poll.chunk_by(|a, b| a == b);
    groups.max_by_key(|group| group.len()).map_or(0.0, |group| group[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_has_one_place_and_the_rest_is_marked() {
        let shape = [19, 9, 6];
        let bins: Vec<u16> = (0..19 * 9 * 6).collect();
        let placed = in_bricks(shape, &bins);
        assert_eq!(placed.len(), 3 * 2 * 2 * BRICK_VOXELS);
        let mut found: Vec<u16> = placed.iter().copied().filter(|bin| *bin != NOT_COUNTED).collect();
        // Each thread (lane) of a GPU warp reads eight voxels of a brick (8×8×4 voxels) one after another. The first
        // voxel of lane 9 is (1, 1, 0) in the brick; its fourth voxel is 4 further along y and 1 further along z. The
        // second brick begins at the voxel (8, 0, 0) of the volume, so the fourth voxel of lane 9 in this brick is (8 +
        // 1, 1 + 4, 1).
        assert_eq!(placed[BRICK_VOXELS + 9 * 8 + 3], (19 * 9 + 5 * 19 + 9) as u16);
        found.sort_unstable();
        assert_eq!(found, bins);
    }

    #[test]
    fn distances_are_to_the_nearest_cell_that_is_not_empty() {
        let shape = [50, 21, 9];
        let mut voxels = vec![0.5_f32; 50 * 21 * 9];
        let full = [[0_usize, 0, 0], [37, 12, 4], [38, 20, 8]];
        full.iter().for_each(|[x, y, z]| voxels[(z * 21 + y) * 50 + x] = 0.25);
        let emptiness = Emptiness::of(shape, &voxels);
        assert_eq!((emptiness.common, emptiness.cells), (0.5, [25, 11, 5]));
        for (at, found) in emptiness.distance.iter().enumerate() {
            let cell = [at % 25, at / 25 % 11, at / 25 / 11];
            let away = |voxel: &[usize; 3]| (0..3).map(|axis| cell[axis].abs_diff(voxel[axis] / 2)).max();
            assert_eq!(Some(usize::from(*found)), full.iter().filter_map(away).min().map(|far| far.min(16)));
        }
    }

    #[test]
    fn blocks_take_no_more_voxels_than_they_may() {
        for (shape, most) in [([162, 214, 167], 30_720), ([512, 512, 512], 63_488), ([3, 1, 1], 30_720)] {
            for wanted in [1, 264, 5000] {
                let bricks: usize = count(shape).iter().product();
                let blocks = blocks(shape, wanted, most);
                assert!(bricks.div_ceil(RUN).div_ceil(blocks) * RUN * BRICK_VOXELS <= most);
                assert!(blocks <= bricks.div_ceil(RUN));
            }
        }
    }
}
