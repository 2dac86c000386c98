//! The contrast of the moving image across a surface, for a batch of transforms.

use antsreg_core::AffineTransform;

use crate::cuda::Cuda;
use crate::cuda::buffer::grown;
use crate::cuda::image::Image;
use crate::cuda::launch::{Argument, Launch, Size, arguments};
use crate::cuda::similarity::samples::{MOST_TRANSFORMS, uploaded};
use crate::{Contrast, ContrastRule, Error};

/// Kernel argument with the layout of the structure `Rule` in `cu/contrast.cu`: how a surface point's contrast enters
/// the sums.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Rule {
    slope: f32,
    offset: f32,
    least: f32,
}
impl Argument for Rule {}

/// Number of surface points that a thread block processes, as in `cu/contrast.cu`.
const RUN: usize = 2048;

pub(in crate::cuda) fn contrast(
    cuda: &Cuda,
    points: &Image,
    moving: &Image,
    rule: &ContrastRule,
    maps: &[AffineTransform],
) -> Result<Vec<Contrast>, Error> {
    let count = points.shape[0];
    Error::check_shapes("contrast", [count, ContrastRule::ROWS, 1], [points.shape])?;
    if count == 0 {
        return Ok(vec![Contrast::default(); maps.len()]);
    }
    let rule = Rule { slope: rule.slope, offset: rule.offset, least: rule.least };
    let blocks = count.div_ceil(RUN);
    let kernels = cuda.kernels.contrast(&cuda.device)?;
    let mut all = Vec::with_capacity(maps.len());
    for batch in maps.chunks(MOST_TRANSFORMS) {
        let mut scratch = cuda.scratch();
        let buffers = &mut scratch.contrast;
        let maps = uploaded(&mut buffers.maps, batch, &cuda.device)?;
        let sums_buffer = grown(&mut buffers.sums, 3 * blocks * batch.len(), &cuda.device)?;
        let sums = sums_buffer.pointer();
        let launch = Launch {
            kernel: &kernels.contrast,
            grid: [blocks as u32, batch.len() as u32, 1],
            block: [256, 1, 1],
            shared: 0,
            bytes: 4 * (points.len() * batch.len() + moving.len()) as u64,
        };
        let (values, number, image, shape) = (points.read(), count as i32, moving.read(), Size::of(moving.shape));
        // SAFETY: the launch has one block for each transform and each group of successive points, and `sums` has
        // three floats for each block. `points` has seven rows of `count` numbers. Positions outside the moving
        // image have no weight and are not read.
        unsafe { cuda.launch(launch, arguments![values, number, image, shape, rule, maps, sums])? };
        let sums = sums_buffer.download(3 * blocks * batch.len())?;
        all.extend(sums.chunks_exact(3 * blocks).map(|sums| {
            let [weight, signed, unsigned] =
                [0, 1, 2].map(|part| sums.iter().skip(part).step_by(3).map(|sum| f64::from(*sum)).sum());
            Contrast { weight, signed, unsigned }
        }));
    }
    Ok(all)
}
