//! GPU memory of the comparison of patches.

use super::{BLOCK, BLOCK_LEN, Parameters, with_margin};

/// Memory for the boxes and patches of blocks, bytes. Blocks are processed in batches that need no more than this.
const BATCH_BYTES: usize = 384 << 20;

/// Number of values of each kind that a block of voxels with its margins needs on a GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    /// Voxels of the box of the target.
    pub(crate) target: usize,
    /// Voxels of the boxes of all atlases.
    pub(crate) boxes: usize,
    /// Patches inside the boxes of all atlases.
    pub(crate) patches_of_boxes: usize,
    /// Numbers of the matrix of expected errors of one patch, of its diagonal and of the solution.
    pub(crate) matrix: usize,
    /// Number of blocks that are processed at once.
    pub(crate) blocks: usize,
}

impl Batch {
    /// The batch for this number of atlases, if there are `blocks` blocks in all.
    pub(crate) fn new(atlases: usize, parameters: &Parameters, blocks: usize) -> Batch {
        let voxels = |margin: usize| with_margin(margin).iter().product::<usize>();
        let mut batch = Batch {
            target: voxels(parameters.patch_radius),
            boxes: atlases * voxels(parameters.patch_radius + parameters.search_radius),
            patches_of_boxes: atlases * voxels(parameters.search_radius),
            matrix: atlases * (atlases + 2),
            blocks,
        };
        batch.blocks = (BATCH_BYTES / batch.block_bytes(atlases)).clamp(1, blocks.max(1));
        batch
    }

    /// Memory for one block, bytes.
    fn block_bytes(&self, atlases: usize) -> usize {
        let Batch { target, boxes, patches_of_boxes, matrix, .. } = *self;
        // The position of the block, and its mean in each image.
        let block = 16 + 4 * (atlases + 1);
        // The number of each voxel's patch; for each atlas the best and the chosen shift (2 bytes each) and the weight.
        let voxel = 4 + 8 * atlases + 8 * matrix;
        block + 4 * (target + boxes) + 8 * (BLOCK_LEN + patches_of_boxes) + BLOCK_LEN * voxel
    }
}

/// Memory that [`fusion_choices`](super::FusionBackend::fusion_choices) needs on a GPU, bytes: the images, and the
/// buffers of a batch of blocks.
pub fn device_bytes(shape: [usize; 3], atlases: usize, parameters: &Parameters) -> u64 {
    let blocks = (0..3).map(|axis| shape[axis].div_ceil(BLOCK[axis])).product();
    let batch = Batch::new(atlases, parameters, blocks);
    let images = 4 * (atlases + 1) * shape.iter().product::<usize>();
    (images + batch.blocks * batch.block_bytes(atlases)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_needs_what_its_images_boxes_and_patches_need() {
        let parameters = Parameters { patch_radius: 1, search_radius: 2, alpha: 0.1, beta: 2.0, not_negative: false };
        let bytes = |shape| device_bytes(shape, 3, &parameters);
        // The target and three atlases in single precision.
        let images = |voxels: u64| 4 * voxels * 4;
        // The box of the target has 18·10·10 voxels. The box of an atlas has 22·14·14, with patches around 20·12·12.
        let boxes = 4 * (1800 + 3 * 4312);
        let patches_of_boxes = 8 * 3 * 2880;
        // For each of the 1024 voxels of a block: mean and standard deviation of its patch (8 bytes); 4 bytes for its
        // number; 8 for each of three atlases; and 15 doubles: 9 of the matrix, 3 of its diagonal, 3 of the solution.
        let voxels = 1024 * (8 + 4 + 24 + 120);
        // A position, and four means in single precision.
        let block = 16 + 16 + boxes + patches_of_boxes + voxels;
        assert_eq!(bytes([16, 8, 8]), images(1024) + block);
        // Seven blocks along x, and two along y and z.
        assert_eq!(bytes([97, 9, 16]), images(97 * 9 * 16) + 28 * block);
    }

    #[test]
    fn a_batch_stays_within_its_memory_and_has_at_least_one_block() {
        let parameters = Parameters { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0, not_negative: false };
        let bytes = |shape, atlases| device_bytes(shape, atlases, &parameters);
        let images = |voxels: u64, atlases: u64| 4 * voxels * (atlases + 1);
        let whole = bytes([160, 200, 160], 4) - images(160 * 200 * 160, 4);
        assert!(whole <= BATCH_BYTES as u64 && whole > BATCH_BYTES as u64 * 9 / 10, "{whole}");
        assert!(bytes([16, 8, 8], 4) < images(1024, 4) + 600_000);
        let wide = Parameters { patch_radius: 8, search_radius: 15, ..parameters };
        assert_eq!(Batch::new(3000, &wide, 10).blocks, 1);
        assert_eq!(Batch::new(4, &parameters, 0).blocks, 1);
    }
}
