//! The contrast of the moving image across a surface, for a batch of transforms.

use antsreg_core::AffineTransform;

use super::Cuda;
use super::buffer::Buffer;
use super::image::Image;
use super::launch::{Argument, Launch, Size, arguments};
use super::samples::{MOST_TRANSFORMS, grown, uploaded};
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

/// GPU memory for the contrast across a surface under a batch of transforms, reused from call to call.
#[derive(Default)]
pub(super) struct ContrastBuffers {
    maps: Option<Buffer<[f32; 12]>>,
    /// Three sums of the contrast for each transform and each thread block, over the surface points that the block
    /// processes.
    sums: Option<Buffer<f32>>,
}

impl Cuda {
    pub(super) fn contrast_of(
        &self,
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
        let kernels = self.kernels.contrast(&self.device)?;
        let mut all = Vec::with_capacity(maps.len());
        for batch in maps.chunks(MOST_TRANSFORMS) {
            let mut scratch = self.scratch();
            let buffers = &mut scratch.contrast;
            let maps = uploaded(&mut buffers.maps, batch, &self.device)?;
            let sums_buffer = grown(&mut buffers.sums, 3 * blocks * batch.len(), &self.device)?;
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
            unsafe { self.launch(launch, arguments![values, number, image, shape, rule, maps, sums])? };
            let sums = sums_buffer.download(3 * blocks * batch.len())?;
            all.extend(sums.chunks_exact(3 * blocks).map(|sums| {
                let [weight, signed, unsigned] =
                    [0, 1, 2].map(|part| sums.iter().skip(part).step_by(3).map(|sum| f64::from(*sum)).sum());
                Contrast { weight, signed, unsigned }
            }));
        }
        Ok(all)
    }
}
