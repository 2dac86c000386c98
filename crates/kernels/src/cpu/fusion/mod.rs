//! The comparison of patches for joint label fusion on the CPU. Rayon's threads process the blocks in parallel.

mod boxes;
mod search;
mod solve;
mod weights;

use rayon::prelude::*;

use self::boxes::BoxOfImage;
use self::search::{Rows, Search};
use self::solve::Solver;
use self::weights::Differences;
use super::{Cpu, widest};
use crate::Error;
use crate::fusion::{Choices, FusionBackend, Images, Parameters, PatchBlock, Patches, check, place, shifts};

impl FusionBackend for Cpu {
    fn fusion_choices(
        &self,
        images: &Images<'_>,
        patches: &Patches,
        parameters: &Parameters,
    ) -> Result<Choices, Error> {
        check(images, patches, parameters)?;
        let count = images.atlases.len();
        let mut choices = Choices::zeros(patches.count(), count);
        let (mut shift, mut weight) = (&mut choices.shift[..], &mut choices.weight[..]);
        let mut tasks = Vec::with_capacity(patches.blocks().len());
        for block in patches.blocks() {
            let (chosen, weights);
            (chosen, shift) = std::mem::take(&mut shift).split_at_mut(block.voxels.len() * count);
            (weights, weight) = std::mem::take(&mut weight).split_at_mut(block.voxels.len() * count);
            tasks.push(Task { block, chosen, weights });
        }
        let comparison = Comparison { images, parameters, shifts: &shifts(parameters.search_radius) };
        tasks.into_par_iter().for_each_init(Scratch::default, |scratch, task| {
            widest(
                #[inline(always)]
                || comparison.block(scratch, task),
            );
        });
        Ok(choices)
    }
}

/// Buffers of one thread for one block of voxels, reused from block to block.
#[derive(Default)]
struct Scratch {
    target: BoxOfImage,
    atlases: Vec<BoxOfImage>,
    rows: Rows,
    found: Vec<Search>,
    differences: Differences,
    solver: Solver,
}

/// The work for one block of target voxels. For each patch of the block and each atlas, the output buffers receive the
/// index of the chosen shift and the weight of the atlas.
struct Task<'a> {
    block: &'a PatchBlock,
    chosen: &'a mut [u16],
    weights: &'a mut [f32],
}

/// The images and the parameters that are the same for all blocks.
struct Comparison<'a> {
    images: &'a Images<'a>,
    parameters: &'a Parameters,
    shifts: &'a [[i32; 3]],
}

impl Comparison<'_> {
    /// Finds the best shifts and the weights of the atlases for one block of voxels.
    #[inline(always)]
    fn block(&self, scratch: &mut Scratch, Task { block, chosen, weights }: Task) {
        let Comparison { images, parameters, shifts } = self;
        let (radius, width) = (parameters.search_radius, parameters.width());
        let whole = images.shape;
        let Scratch { target, atlases, rows, found, differences, solver } = scratch;
        rows.list(&block.voxels, width);
        target.read(&images.target, whole, block.start, parameters.patch_radius, width);
        atlases.resize_with(images.atlases.len(), Default::default);
        found.resize_with(images.atlases.len(), Default::default);
        for ((image, atlas), found) in images.atlases.iter().zip(atlases.iter_mut()).zip(found.iter_mut()) {
            atlas.read(image, whole, block.start, parameters.patch_radius + radius, width);
            found.run(target, atlas, rows, width, radius, shifts);
        }
        let count = atlases.len();
        let each = chosen.chunks_exact_mut(count).zip(weights.chunks_exact_mut(count));
        for (number, (chosen, weights)) in block.voxels.iter().map(|number| usize::from(*number)).zip(each) {
            for (chosen, found) in chosen.iter_mut().zip(found.iter()) {
                *chosen = found.best(number);
            }
            let offset = |shift: &u16| shifts[usize::from(*shift)].map(|along| (along + radius as i32) as usize);
            let shifted = atlases.iter().zip(chosen.iter().map(offset));
            differences.take(place(number), width, target, shifted);
            differences.errors(solver.matrix(count), parameters);
            solver.solve(parameters.not_negative, weights);
        }
    }
}
