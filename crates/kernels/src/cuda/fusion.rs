//! The comparison of patches for joint label fusion on a CUDA device. The blocks of the target are processed in batches,
//! so that the memory needed does not depend on the number of blocks.

use super::Cuda;
use super::buffer::{Buffer, Plain};
use super::kernels::{Fusion, FusionOfRadius};
use super::launch::{Argument, Launch, Size, arguments};
use crate::Error;
use crate::fusion::{
    BLOCK, BLOCK_LEN, Batch, Choices, FusionBackend, Images, LANES, Parameters, PatchBlock, Patches, check, shifts,
};

/// An image, with the layout of the structure `Scaled` in `cu/fusion.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Scaled {
    voxels: u64,
    low: f32,
    scale: f32,
}
// SAFETY: numbers without padding between them.
unsafe impl Plain for Scaled {}

/// Kernel argument with the layout of the structure `Fusion` in `cu/fusion.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Operands {
    shape: Size,
    patch_radius: i32,
    search_radius: i32,
    atlases: u32,
    blocks: u32,
    patches: u32,
    images: u64,
    of_blocks: u64,
    of_patches: u64,
    shifts: u64,
    shift_count: i32,
    means: u64,
    target: u64,
    boxes: u64,
    target_patches: u64,
    patches_of_boxes: u64,
    best: u64,
    matrix: u64,
    chosen: u64,
    weights: u64,
    alpha: f64,
    beta: f64,
    not_negative: i32,
}
impl Argument for Operands {}

/// Device memory for a batch of blocks.
struct Buffers {
    /// Positions of the first voxels of the blocks, three numbers each.
    of_blocks: Buffer<u32>,
    of_patches: Buffer<u32>,
    means: Buffer<f32>,
    target: Buffer<f32>,
    boxes: Buffer<f32>,
    target_patches: Buffer<[f32; 2]>,
    patches_of_boxes: Buffer<[f32; 2]>,
    best: Buffer<u16>,
    matrix: Buffer<f64>,
    chosen: Buffer<u16>,
    weights: Buffer<f32>,
}

impl FusionBackend for Cuda {
    fn fusion_choices(
        &self,
        images: &Images<'_>,
        patches: &Patches,
        parameters: &Parameters,
    ) -> Result<Choices, Error> {
        check(images, patches, parameters)?;
        let Parameters { patch_radius, search_radius, alpha, beta, not_negative } = *parameters;
        let device = &self.device;
        let count = images.atlases.len();
        let batch = Batch::new(count, parameters, patches.blocks().len());
        let all: Vec<_> = std::iter::once(&images.target).chain(images.atlases).collect();
        let voxels: Vec<Buffer<f32>> =
            all.iter().map(|image| Buffer::from_slice(device, image.voxels)).collect::<Result<_, _>>()?;
        let scaled = voxels.iter().zip(&all);
        let scaled: Vec<Scaled> = scaled
            .map(|(voxels, image)| Scaled { voxels: voxels.pointer(), low: image.low, scale: image.scale })
            .collect();
        let scaled = Buffer::from_slice(device, &scaled)?;
        // The kernels read these numbers as signed integers.
        let shifts: Vec<u32> = shifts(search_radius).into_iter().flatten().map(|along| along as u32).collect();
        let shift_count = (shifts.len() / 3) as i32;
        let shifts = Buffer::from_slice(device, &shifts)?;
        let mut buffers = Buffers::new(self, &batch, count)?;
        let mut choices = Choices::zeros(patches.count(), count);
        let mut first = 0;
        for blocks in patches.blocks().chunks(batch.blocks) {
            let patches = buffers.upload(blocks)?;
            let operands = Operands {
                shape: Size::of(images.shape),
                patch_radius: patch_radius as i32,
                search_radius: search_radius as i32,
                atlases: count as u32,
                blocks: blocks.len() as u32,
                patches: patches as u32,
                images: scaled.pointer(),
                of_blocks: buffers.of_blocks.pointer(),
                of_patches: buffers.of_patches.pointer(),
                shifts: shifts.pointer(),
                shift_count,
                means: buffers.means.pointer(),
                target: buffers.target.pointer(),
                boxes: buffers.boxes.pointer(),
                target_patches: buffers.target_patches.pointer(),
                patches_of_boxes: buffers.patches_of_boxes.pointer(),
                best: buffers.best.pointer(),
                matrix: buffers.matrix.pointer(),
                chosen: buffers.chosen.pointer(),
                weights: buffers.weights.pointer(),
                alpha,
                beta,
                not_negative: i32::from(not_negative),
            };
            self.compare_patches(operands, &batch)?;
            let chosen = first..first + patches * count;
            buffers.chosen.download_into(&mut choices.shift[chosen.clone()])?;
            buffers.weights.download_into(&mut choices.weight[chosen.clone()])?;
            first = chosen.end;
        }
        Ok(choices)
    }
}

impl Buffers {
    fn new(cuda: &Cuda, batch: &Batch, atlases: usize) -> Result<Buffers, Error> {
        let device = &cuda.device;
        let Batch { target, boxes, patches_of_boxes, matrix, blocks } = *batch;
        let patches = blocks * BLOCK_LEN;
        Ok(Buffers {
            of_blocks: Buffer::uninitialised(device, 3 * blocks)?,
            of_patches: Buffer::uninitialised(device, patches)?,
            means: Buffer::uninitialised(device, blocks * (atlases + 1))?,
            target: Buffer::uninitialised(device, blocks * target)?,
            boxes: Buffer::uninitialised(device, blocks * boxes)?,
            target_patches: Buffer::uninitialised(device, patches)?,
            patches_of_boxes: Buffer::uninitialised(device, blocks * patches_of_boxes)?,
            best: Buffer::uninitialised(device, patches * atlases)?,
            matrix: Buffer::uninitialised(device, patches * matrix)?,
            chosen: Buffer::uninitialised(device, patches * atlases)?,
            weights: Buffer::uninitialised(device, patches * atlases)?,
        })
    }

    /// Copies the positions of the blocks of a batch and of their patches to the device. Returns the number of patches.
    fn upload(&mut self, blocks: &[PatchBlock]) -> Result<usize, Error> {
        let of_blocks: Vec<u32> = blocks.iter().flat_map(|block| block.start.map(|start| start as u32)).collect();
        let of_block = |(number, block): (usize, &PatchBlock)| {
            block.voxels.iter().map(move |voxel| (number * BLOCK_LEN) as u32 + u32::from(*voxel)).collect::<Vec<_>>()
        };
        let of_patches: Vec<u32> = blocks.iter().enumerate().flat_map(of_block).collect();
        self.of_blocks.upload(&of_blocks)?;
        self.of_patches.upload(&of_patches)?;
        Ok(of_patches.len())
    }
}

impl Cuda {
    /// Finds the shifts and the weights of the patches of a batch.
    fn compare_patches(&self, operands: Operands, batch: &Batch) -> Result<(), Error> {
        let Fusion { fusion_means, fusion_boxes, fusion_weights, .. } = self.kernels.fusion(&self.device)?;
        let FusionOfRadius { patches, search, errors, .. } =
            self.kernels.fusion_of_radius(operands.patch_radius as usize, &self.device)?;
        let Operands { atlases, blocks, patches: count, patch_radius, shift_count, .. } = operands;
        let images = blocks * (atlases + 1);
        let count = count as usize;
        let boxes = 4 * (blocks as usize * (batch.target + batch.boxes)) as u64;
        let of_search = 4 * u64::from(blocks * atlases) * (BLOCK_LEN as u64) * shift_count as u64;
        let of_matrix = 8 * (count * batch.matrix) as u64;
        let launches = [
            Launch::over_elements(fusion_means, images as usize, 32, boxes),
            Launch::of_blocks(fusion_boxes, images, 256, 2 * boxes),
            Launch::of_blocks(patches, images, 128, 3 * boxes),
            Launch::of_blocks(search, blocks * atlases, search_threads(patch_radius as usize), of_search),
            Launch::over_elements(errors, LANES * count, 128, of_matrix),
            Launch::over_elements(fusion_weights, count, 128, of_matrix),
        ];
        for launch in launches {
            // SAFETY: the buffers have the elements that `Batch` lists for each block of a full batch, and this batch has
            // at most as many blocks. `of_blocks` and `of_patches` describe `blocks` blocks and `patches` patches of the
            // batch. Each image has the voxels of `shape`. The kernels were compiled for this patch radius.
            unsafe { self.launch(launch, arguments![operands])? };
        }
        Ok(())
    }
}

/// Number of threads of a block of `fusion_search`, as `Threads` in `cu/fusion.cu`: one for each row of the target's
/// box, and one for each pair (x, z) of a block with its margin along z; whole warps.
fn search_threads(patch_radius: usize) -> u32 {
    let [y, z] = [1, 2].map(|axis| BLOCK[axis] + 2 * patch_radius);
    (y * z).max(BLOCK[0] * z).next_multiple_of(32) as u32
}
