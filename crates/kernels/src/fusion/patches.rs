//! The patches of the target image that are compared with patches of the atlases.

use rayon::prelude::*;

/// Number of voxels of a block along each axis. A block is small enough for the cache of one processor core.
pub(crate) const BLOCK: [usize; 3] = [16, 8, 8];
/// Total number of voxels of a block.
pub(crate) const BLOCK_LEN: usize = BLOCK[0] * BLOCK[1] * BLOCK[2];

/// Number of voxels along each axis of a block with a margin on each side.
pub(crate) fn with_margin(margin: usize) -> [usize; 3] {
    BLOCK.map(|extent| extent + 2 * margin)
}

/// A block of voxels with the patches around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchBlock {
    /// Position of the first voxel of the block in the image.
    pub(crate) start: [usize; 3],
    /// Numbers (counted within the block, first axis fastest) of the voxels that have a patch around them.
    pub(crate) voxels: Vec<u16>,
}

/// The patches of a target image, grouped in blocks of voxels. Patches are numbered in the order of the blocks.
#[derive(Debug, Clone)]
pub struct Patches {
    shape: [usize; 3],
    blocks: Vec<PatchBlock>,
    /// For each voxel: the number of the patch around it, plus 1; 0 for a voxel without a patch.
    patch_of: Vec<u32>,
    count: usize,
}

impl Patches {
    /// Makes one patch around every voxel of a volume where `set` is true. `set` has one value for each voxel.
    pub fn around(set: &[bool], shape: [usize; 3]) -> Patches {
        let [nx, ny, _] = shape;
        let across: [usize; 3] = std::array::from_fn(|axis| shape[axis].div_ceil(BLOCK[axis]));
        let of_block = |block: usize| {
            let at = [block % across[0], block / across[0] % across[1], block / (across[0] * across[1])];
            let start: [usize; 3] = std::array::from_fn(|axis| at[axis] * BLOCK[axis]);
            let extent: [usize; 3] = std::array::from_fn(|axis| BLOCK[axis].min(shape[axis] - start[axis]));
            let mut voxels = Vec::new();
            for (z, y) in (0..extent[2]).flat_map(|z| (0..extent[1]).map(move |y| (z, y))) {
                let row = &set[((start[2] + z) * ny + start[1] + y) * nx + start[0]..][..extent[0]];
                let first = (z * BLOCK[1] + y) * BLOCK[0];
                voxels.extend((0..extent[0]).filter(|x| row[*x]).map(|x| (first + x) as u16));
            }
            PatchBlock { start, voxels }
        };
        let blocks = (0..across.iter().product()).into_par_iter().map(of_block);
        let blocks: Vec<PatchBlock> = blocks.filter(|block| !block.voxels.is_empty()).collect();
        // A layer is all blocks at the same place along the third axis. Their voxels follow each other in memory.
        let before = |z: usize| blocks.partition_point(|block| block.start[2] < z);
        let of_layer = |layer: usize| &blocks[before(layer * BLOCK[2])..before((layer + 1) * BLOCK[2])];
        let layers: Vec<&[PatchBlock]> = (0..across[2]).map(of_layer).collect();
        let mut count = 0;
        let firsts: Vec<usize> = layers
            .iter()
            .map(|layer| {
                let first = count;
                count += layer.iter().map(|block| block.voxels.len()).sum::<usize>();
                first
            })
            .collect();
        let mut patch_of = vec![0; set.len()];
        let slabs = patch_of.par_chunks_mut((nx * ny * BLOCK[2]).max(1));
        slabs.zip(&layers).zip(firsts).for_each(|((slab, layer), first)| {
            let voxels = layer.iter().flat_map(|block| block.voxels.iter().map(|number| (block.start, *number)));
            for (patch, (start, number)) in voxels.enumerate() {
                let [x, y, z] = voxel([start[0], start[1], 0], usize::from(number));
                slab[(z * ny + y) * nx + x] = (first + patch + 1) as u32;
            }
        });
        Patches { shape, blocks, patch_of, count }
    }

    /// Number of voxels of the image along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Number of patches.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The blocks that have at least one patch.
    pub(crate) fn blocks(&self) -> &[PatchBlock] {
        &self.blocks
    }

    /// The number of the patch around a voxel; `None` if the voxel has no patch.
    #[inline]
    pub fn patch_of(&self, voxel: usize) -> Option<usize> {
        (self.patch_of[voxel] as usize).checked_sub(1)
    }
}

/// Position within a block of the voxel with the index `number`.
#[inline(always)]
pub(crate) fn place(number: usize) -> [usize; 3] {
    [number % BLOCK[0], number / BLOCK[0] % BLOCK[1], number / (BLOCK[0] * BLOCK[1])]
}

/// Position in the image of voxel `number` of a block. The first voxel of the block is at `start`.
fn voxel(start: [usize; 3], number: usize) -> [usize; 3] {
    let place = place(number);
    std::array::from_fn(|axis| start[axis] + place[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_numbered_block_by_block() {
        let shape = [36, 9, 20];
        let set: Vec<bool> = (0..36 * 9 * 20).map(|voxel| (voxel * 7919) % 1009 < 300).collect();
        let patches = Patches::around(&set, shape);
        assert_eq!(patches.count(), set.iter().filter(|set| **set).count());
        let mut number = 0;
        for block in patches.blocks() {
            for within in &block.voxels {
                let [x, y, z] = voxel(block.start, usize::from(*within));
                assert_eq!(patches.patch_of((z * 9 + y) * 36 + x), Some(number));
                number += 1;
            }
        }
        assert_eq!(number, patches.count());
        assert!((0..set.len()).all(|voxel| patches.patch_of(voxel).is_some() == set[voxel]));
    }
}
