//! Corrects two displacement fields that should be inverse to each other, where they fold or where their inverse
//! consistency is poor, brick by brick.

use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::field::Field;
use crate::cuda::intensity::smooth::Weights;
use crate::cuda::launch::{Argument, Launch, Shape, arguments};
use crate::relax::{AIM_ABOVE, BRICK, CORRECTED, CORRECTED_BY, MARGIN, UNFOLDED_BY, bricks};
use crate::{Error, RelaxRound, gaussian};

/// Number of bricks (blocks of 8³ voxels) for each thread block of a small volume.
const BRICKS: usize = 8;
/// Largest number of thread blocks for each multiprocessor. In a large volume each thread block therefore looks at more
/// bricks: most are not marked, and to start a thread block takes longer than to look at their marks.
const BLOCKS_OF_MULTIPROCESSOR: u32 = 16;

/// Memory of the relaxation of two fields: the marks of the bricks (blocks of 8³ voxels) of both fields that the next
/// round must examine; and scratch memory.
pub struct RelaxWorkspace {
    shape: [usize; 3],
    /// For each field, two lists with a mark for each brick: the bricks that the current round of corrections examines,
    /// and the bricks that this round marks for the next round.
    examine: [[Buffer<u32>; 2]; 2],
    /// One mark for each brick (block of 8³ voxels): whether the inverse of the changed field must be computed again
    /// there.
    following: Buffer<u32>,
    /// One mark for each brick: whether the current round of corrections smooths voxels of it.
    smoothing: Buffer<u32>,
    /// New displacements of the voxels in `list`, which are those that the present round changes.
    target: Field,
    /// Weight of each voxel of the field that is being corrected: the share of the Gaussian-smoothed field in the
    /// voxel's new displacement, or the mark UNFOLDED or CORRECTED of `cu/relax.cu`. All weights are zero between the
    /// corrections of the two fields.
    weights: Buffer<f32>,
    list: Buffer<u32>,
    /// Numbers of voxels in a round of corrections, for each field: the voxels that fold or deviate too much from the
    /// inverse of the other field, and the voxels whose displacement is changed.
    counts: Buffer<u32>,
}

/// Parameters of one round of corrections of two fields that should be inverse to each other, as a kernel argument: the
/// layout is that of `Round` in `cu/relax.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Round {
    smallest_jacobian: f32,
    aim_above: f32,
    unfolded_by: f32,
    allowed: [[f32; 3]; 3],
    unfolds: i32,
    largest_residual_squared: f32,
    reach: i32,
    steps: i32,
    tolerance_squared: f32,
    untouched_squared: f32,
    corrected_squared: f32,
    corrected_by_squared: f32,
    margin: f32,
}
impl Argument for Round {}

impl Round {
    fn of(round: &RelaxRound) -> Round {
        let RelaxRound { limits, follow, .. } = round;
        Round {
            smallest_jacobian: limits.smallest_jacobian,
            aim_above: AIM_ABOVE,
            unfolded_by: UNFOLDED_BY,
            allowed: round.allowed,
            unfolds: i32::from(round.unfolds),
            largest_residual_squared: limits.largest_residual_voxels * limits.largest_residual_voxels,
            reach: round.reach_voxels as i32,
            steps: follow.steps as i32,
            tolerance_squared: follow.tolerance_voxels * follow.tolerance_voxels,
            untouched_squared: follow.untouched_voxels * follow.untouched_voxels,
            corrected_squared: CORRECTED * CORRECTED,
            corrected_by_squared: CORRECTED_BY * CORRECTED_BY,
            margin: MARGIN,
        }
    }
}

impl RelaxWorkspace {
    pub(in crate::cuda) fn new(cuda: &Cuda, shape: [usize; 3]) -> Result<RelaxWorkspace, Error> {
        let marks = || Buffer::zeroed(&cuda.device, bricks(shape).iter().product());
        let voxels = shape.iter().product();
        let mut workspace = RelaxWorkspace {
            shape,
            examine: [[marks()?, marks()?], [marks()?, marks()?]],
            following: marks()?,
            smoothing: marks()?,
            target: Field::uninitialised(&cuda.device, shape)?,
            weights: Buffer::zeroed(&cuda.device, voxels)?,
            list: Buffer::uninitialised(&cuda.device, voxels)?,
            counts: Buffer::zeroed(&cuda.device, 4)?,
        };
        workspace.examine_all()?;
        Ok(workspace)
    }

    pub(in crate::cuda) fn examine_all(&mut self) -> Result<(), Error> {
        for [next, _] in &mut self.examine {
            next.fill(0..next.len(), 1)?;
        }
        Ok(())
    }
}

pub(in crate::cuda) fn relax(
    cuda: &Cuda,
    [there, back]: [&mut Field; 2],
    round: &RelaxRound,
    workspace: &mut RelaxWorkspace,
) -> Result<[usize; 2], Error> {
    for field in [&*there, &*back] {
        Error::check_shape("relax", workspace.shape, field.shape)?;
    }
    workspace.counts.clear(0..4)?;
    half(cuda, there, back, 0, round, workspace)?;
    half(cuda, back, there, 1, round, workspace)?;
    let mut counts = [0; 4];
    workspace.counts.download_into(&mut counts)?;
    Ok([counts[0] as usize, counts[2] as usize])
}

fn half(
    cuda: &Cuda,
    field: &mut Field,
    inverse: &mut Field,
    side: usize,
    round: &RelaxRound,
    workspace: &mut RelaxWorkspace,
) -> Result<(), Error> {
    let (kernels, shape) = (cuda.kernels.relax(&cuda.device)?, Shape::of(field.shape));
    let kernel = gaussian::kernel(round.variance_voxels);
    let weights = Weights::of(&field.shape.map(|n| if n > 1 { kernel.clone() } else { vec![1.0] }));
    let round = Round::of(round);
    let blocks = bricks(workspace.shape).iter().product::<usize>().div_ceil(BRICKS) as u32;
    let blocks = blocks.min(BLOCKS_OF_MULTIPROCESSOR * cuda.device.info.multiprocessors);
    let over_bricks = |kernel| Launch::of_blocks(kernel, blocks, BRICK.pow(3) as u32, 0);
    let over_list = |kernel, threads| Launch::of_blocks(kernel, 8 * cuda.device.info.multiprocessors, threads, 0);
    let (u, v, target) = (field.write(), inverse.write(), workspace.target.write());
    let (share, list) = (workspace.weights.pointer(), workspace.list.pointer());
    let count = workspace.counts.pointer() + 8 * side as u64;
    let listed = count + 4;
    let [now, meanwhile] = [0, 1].map(|which: usize| workspace.examine[side][which].pointer());
    let (of_inverse, following) = (workspace.examine[1 - side][0].pointer(), workspace.following.pointer());
    let smoothing = workspace.smoothing.pointer();
    let (radius, margin) = (kernel.len() as i32 - 1, round.margin);
    // SAFETY: both fields, the new displacements, the weights and the list have one shape, and `marks` has one
    // element for each brick of this shape. The blocks together process all bricks. Reads and marks are clamped to the
    // shape, and threads outside it return. A voxel is listed at most once, so the list cannot overflow.
    unsafe {
        cuda.launch(
            over_bricks(&kernels.examine),
            arguments![u, v, now, round, target, share, list, listed, count, smoothing, shape],
        )?;
        if round.unfolds != 0 {
            cuda.launch(
                over_list(&kernels.unfold_listed, 128),
                arguments![u, share, list, listed, round, target, shape],
            )?;
        }
        cuda.launch(
            over_bricks(&kernels.smooth_marked),
            arguments![u, share, smoothing, weights, radius, target, shape],
        )?;
        cuda.launch(
            over_list(&kernels.change_listed, 256),
            arguments![u, target, share, list, listed, margin, meanwhile, following, shape],
        )?;
        cuda.launch(
            over_bricks(&kernels.follow_marked),
            arguments![u, v, following, round, meanwhile, of_inverse, shape],
        )?;
    }
    workspace.examine[side].swap(0, 1);
    Ok(())
}
