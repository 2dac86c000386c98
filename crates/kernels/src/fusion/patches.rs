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

const NONE: u32 = u32::MAX;

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
    /// For each voxel: the number of the patch around it; `NONE` for a voxel without a patch.
    patch_of: Vec<u32>,
    count: usize,
}

impl Patches {
    /// Makes one patch around every voxel of a volume where `set` is true. `set` has one value for each voxel.
    pub fn around(set: &[bool], shape: [usize; 3]) -> Patches {
        let [nx, ny, nz] = shape;
        let across: [usize; 3] = std::array::from_fn(|axis| shape[axis].div_ceil(BLOCK[axis]));
        let of_block = |block: usize| {
            let at = [block % across[0], block / across[0] % across[1], block / (across[0] * across[1])];
            let start: [usize; 3] = std::array::from_fn(|axis| at[axis] * BLOCK[axis]);
            let counts = |number: &u16| {
                let [x, y, z] = voxel(start, usize::from(*number));
                x < nx && y < ny && z < nz && set[(z * ny + y) * nx + x]
            };
            PatchBlock { start, voxels: (0..BLOCK_LEN as u16).filter(counts).collect() }
        };
        let of_layer = |layer: usize| {
            let blocks = (0..across[0] * across[1]).map(|block| of_block(layer * across[0] * across[1] + block));
            blocks.filter(|block| !block.voxels.is_empty()).collect()
        };
        // A layer is all blocks at the same place along the third axis. Their voxels follow each other in memory.
        let layers: Vec<Vec<PatchBlock>> = (0..across[2]).into_par_iter().map(of_layer).collect();
        let mut count = 0;
        let firsts: Vec<usize> = layers
            .iter()
            .map(|layer| {
                let first = count;
                count += layer.iter().map(|block| block.voxels.len()).sum::<usize>();
                first
            })
            .collect();
        let mut patch_of = vec![NONE; set.len()];
        let slabs = patch_of.par_chunks_mut((nx * ny * BLOCK[2]).max(1));
        slabs.zip(&layers).zip(firsts).for_each(|((slab, layer), first)| {
            let voxels = layer.iter().flat_map(|block| block.voxels.iter().map(|number| (block.start, *number)));
            for (patch, (start, number)) in voxels.enumerate() {
                let [x, y, z] = voxel([start[0], start[1], 0], usize::from(number));
                slab[(z * ny + y) * nx + x] = (first + patch) as u32;
            }
        });
        Patches { shape, blocks: layers.into_iter().flatten().collect(), patch_of, count }
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
        Some(self.patch_of[voxel]).filter(|patch| *patch != NONE).map(|patch| patch as usize)
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
        let shape = [20, 9, 10];
        let set: Vec<bool> = (0..20 * 9 * 10).map(|voxel| voxel % 3 == 1).collect();
        let patches = Patches::around(&set, shape);
        assert_eq!(patches.count(), set.iter().filter(|set| **set).count());
        let mut number = 0;
        for block in patches.blocks() {
            for within in &block.voxels {
                let [x, y, z] = voxel(block.start, usize::from(*within));
                assert_eq!(patches.patch_of((z * 9 + y) * 20 + x), Some(number));
                number += 1;
            }
        }
        assert_eq!(number, patches.count());
        assert!((0..set.len()).all(|voxel| patches.patch_of(voxel).is_some() == set[voxel]));
    }
}
