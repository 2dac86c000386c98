//! Lists of the fixed voxels, sorted by intensity or by bin, and their division into segments: groups of voxels with
//! the same bin (Li 2015, section 3.6.1 and Listing 4).

use rayon::prelude::*;

use super::choice::Order;

/// Indices of all voxels of the fixed volume, sorted by intensity or by bin, as `order` says.
pub(super) fn sorted(shape: [usize; 3], values: &[f32], bins: &[u16], order: Order) -> Vec<u32> {
    match order {
        Order::Intensity => {
            let mut voxels: Vec<u32> = (0..values.len() as u32).collect();
            voxels.par_sort_by(|a, b| values[*a as usize].total_cmp(&values[*b as usize]));
            voxels
        }
        Order::Bricks => {
            let mut voxels = bricks(shape);
            voxels.par_sort_by_key(|voxel| bins[*voxel as usize]);
            voxels
        }
    }
}

/// Indices of all voxels of a volume, grouped by boxes of 8×8×8 voxels, one box after the other.
fn bricks(shape: [usize; 3]) -> Vec<u32> {
    const EDGE: usize = 8;
    let mut voxels = Vec::with_capacity(shape.iter().product());
    let range = |start: usize, axis: usize| start..(start + EDGE).min(shape[axis]);
    for bz in (0..shape[2]).step_by(EDGE) {
        for by in (0..shape[1]).step_by(EDGE) {
            for bx in (0..shape[0]).step_by(EDGE) {
                for z in range(bz, 2) {
                    for y in range(by, 1) {
                        let row = (z * shape[1] + y) * shape[0];
                        voxels.extend(range(bx, 0).map(|x| (row + x) as u32));
                    }
                }
            }
        }
    }
    voxels
}

/// Segments (groups of sorted voxels with the same bin): the first voxel of each segment, the end of the last segment,
/// and the bin of each segment (Li 2015, Listing 4).
pub(super) struct Segments {
    pub(super) starts: Vec<u32>,
    pub(super) bins: Vec<u32>,
}

impl Segments {
    /// Divides the sorted voxels into segments of at most `longest` voxels; all voxels of a segment have the same bin.
    pub(super) fn new(sorted: &[u32], bins: &[u16], longest: usize) -> Segments {
        let mut segments = Segments { starts: Vec::new(), bins: Vec::new() };
        let mut start = 0;
        for (at, voxel) in sorted.iter().enumerate() {
            let bin = u32::from(bins[*voxel as usize]);
            if at - start >= longest || segments.bins.last() != Some(&bin) {
                segments.starts.push(at as u32);
                segments.bins.push(bin);
                start = at;
            }
        }
        segments.starts.push(sorted.len() as u32);
        segments
    }
}

/// Number of slices of a slab, as in `cu/slab.cuh`. A slab is the part of a volume that a thread block processes at a
/// time.
const SLAB: usize = 4;

/// Number of slabs of a volume, for thread blocks of `threads` threads. A slab is the part that a block processes at a
/// time: `threads` successive voxels of a slice, in `SLAB` slices.
pub(super) fn slabs(shape: [usize; 3], threads: usize) -> usize {
    (shape[0] * shape[1]).div_ceil(threads) * shape[2].div_ceil(SLAB)
}

/// Number of thread blocks that share the slabs (parts of the volume) evenly. It is about `requested`, but high enough
/// that every block gets fewer than 2¹⁶ voxels.
pub(super) fn blocks_of_slabs(slabs: usize, requested: usize, threads: usize) -> usize {
    let most = ((1 << 16) - 1) / (threads * SLAB);
    slabs.div_ceil(slabs.div_ceil(requested.max(1)).clamp(1, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_that_keep_bins_together() {
        let shape = [19, 9, 10];
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(|n| ((n * 7919) % 101) as f32).collect();
        let bins: Vec<u16> = values.iter().map(|value| (*value / 12.7) as u16).collect();
        for order in [Order::Intensity, Order::Bricks] {
            let voxels = sorted(shape, &values, &bins, order);
            let mut all = voxels.clone();
            all.sort_unstable();
            assert!(all.iter().enumerate().all(|(at, voxel)| at == *voxel as usize));
            assert!(voxels.is_sorted_by_key(|voxel| bins[*voxel as usize]));
        }
    }

    #[test]
    fn segments_are_cut_where_the_bin_changes_and_where_they_get_too_long() {
        let bins = [0, 0, 0, 0, 0, 2, 2, 3];
        let segments = Segments::new(&[0, 1, 2, 3, 4, 5, 6, 7], &bins, 2);
        assert_eq!(segments.starts, [0, 2, 4, 5, 7, 8]);
        assert_eq!(segments.bins, [0, 0, 0, 2, 3]);
    }

    #[test]
    fn no_block_takes_more_voxels_than_sixteen_bits_count() {
        for (shape, threads) in [([162, 214, 167], 256), ([512, 512, 512], 1024), ([3, 1, 1], 256)] {
            for wanted in [1, 700, 5000] {
                let slabs = slabs(shape, threads);
                let blocks = blocks_of_slabs(slabs, wanted, threads);
                assert!(slabs.div_ceil(blocks) * threads * SLAB < 1 << 16);
                assert!(blocks <= slabs && slabs * threads * SLAB >= shape.iter().product());
            }
        }
    }
}
