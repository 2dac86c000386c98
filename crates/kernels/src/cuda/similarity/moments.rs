//! Moments of pairs of fixed and moving values for a batch of transforms.

use antsreg_core::AffineTransform;

use crate::cuda::Cuda;
use crate::cuda::buffer::grown;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Shape, arguments};
use crate::cuda::similarity::sampled::Sampled;
use crate::cuda::similarity::samples::{MOST_TRANSFORMS, Moving, uploaded};
use crate::operands::range_scale;
use crate::{Error, Moments};

/// Kernel argument with the layout of the structure `Ranges` in `cu/moments.cu`: how fixed and moving values are
/// scaled.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Ranges {
    fixed_low: f32,
    fixed_scale: f32,
    moving_low: f32,
    moving_scale: f32,
}
impl Argument for Ranges {}

/// Number of voxels of a brick along each axis, and number of voxels that a block processes, as in `cu/moments.cu`.
const BRICK: usize = 8;
const RUN: usize = 4096;

pub(in crate::cuda) fn moments(
    cuda: &Cuda,
    fixed: &Image,
    moving: &Image,
    [fixed_weight, moving_weight]: [Option<&Image>; 2],
    [fixed_range, moving_range]: [(f32, f32); 2],
    edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<Moments>, Error> {
    Error::check_shapes("moments", fixed.shape, fixed_weight.map(|weight| weight.shape))?;
    // The weight of a point is 0 at the border of the moving volume. If the volume has an axis of one voxel, every
    // point is at the border.
    let Some(sampled) = Sampled::of(fixed.shape, moving.shape, edge_voxels, fixed_to_moving) else {
        return Ok(vec![Moments::default(); fixed_to_moving.len()]);
    };
    let operand = Moving::new(cuda, moving, moving_weight, sampled.shape, edge_voxels)?;
    let ranges = Ranges {
        fixed_low: fixed_range.0,
        fixed_scale: range_scale(fixed_range),
        moving_low: moving_range.0,
        moving_scale: range_scale(moving_range),
    };
    let bricks: usize = fixed.shape.iter().map(|n| n.div_ceil(BRICK)).product();
    let blocks = (bricks * BRICK.pow(3)).div_ceil(RUN);
    let kernels = cuda.kernels.moments(&cuda.device)?;
    let mut all = Vec::with_capacity(fixed_to_moving.len());
    for batch in sampled.maps.chunks(MOST_TRANSFORMS) {
        let mut scratch = cuda.scratch();
        let buffers = &mut scratch.moments;
        let maps = uploaded(&mut buffers.maps, batch, &cuda.device)?;
        let sums = grown(&mut buffers.sums, 8 * blocks * batch.len(), &cuda.device)?.pointer();
        let totals_buffer = grown(&mut buffers.totals, 6 * batch.len(), &cuda.device)?;
        let launch = Launch {
            kernel: &kernels.moments,
            grid: [blocks as u32, batch.len() as u32, 1],
            block: [256, 1, 1],
            shared: 0,
            bytes: 4 * (fixed.len() * batch.len() + moving.len()) as u64,
        };
        let (values, weights, shape) = (fixed.read(), fixed_weight.map_or(0, Image::read), Shape::of(fixed.shape));
        // SAFETY: the launch has one block for each transform and each group of successive bricks, and `sums` has
        // eight floats for each block. The kernel skips positions outside the volume, and textures clamp their
        // coordinates.
        unsafe { cuda.launch(launch, arguments![values, weights, shape, operand, ranges, maps, sums])? };
        let bytes = (32 * blocks * batch.len()) as u64;
        let launch = Launch::of_blocks(&kernels.moments_totals, batch.len() as u32, 192, bytes);
        let (count, totals) = (blocks as i32, totals_buffer.pointer());
        // SAFETY: a block has one warp for each of the six moments, and `totals` has six numbers for each
        // transform.
        unsafe { cuda.launch(launch, arguments![sums, count, totals])? };
        all.extend(totals_buffer.download(6 * batch.len())?.chunks_exact(6).map(|sums| Moments {
            weight: sums[0],
            fixed: sums[1],
            moving: sums[2],
            fixed_fixed: sums[3],
            moving_moving: sums[4],
            fixed_moving: sums[5],
        }));
    }
    Ok(all)
}
