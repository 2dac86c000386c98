//! Statistics of a quantity with one number for each voxel of a field.

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::field::Field;
use crate::cuda::image::Image;
use crate::cuda::launch::{Launch, Shape, arguments};
use crate::cuda::module::Kernel;
use crate::scores::Statistics;

impl Cuda {
    /// Launches a kernel that computes statistics of a quantity with one number per voxel, and waits for the result.
    /// All fields and the mask have one shape.
    pub(in crate::cuda) fn statistics(
        &self,
        kernel: &Kernel,
        field: &Field,
        other: Option<&Field>,
        mask: Option<&Image>,
    ) -> Result<Statistics, Error> {
        /// Largest number of slices that a thread processes. With more slices for each thread, too few threads would
        /// remain to fill the GPU.
        const MOST_SLICES: usize = 8;
        let slices = self.slices_of_threads(field.len(), MOST_SLICES);
        let fields = 1 + u64::from(other.is_some());
        let bytes = fields * field.bytes() + mask.map_or(0, |mask| 4 * mask.len() as u64);
        let launch = Launch::over_blocks(kernel, field.shape, [32, 8, 1], slices, bytes);
        let mut scratch = self.scratch();
        // Reserves memory for the partial statistics of thread blocks: 32 bytes for each block.
        scratch.reserve(&self.device, 2 * launch.blocks())?;
        let (u, shape) = (field.read(), Shape::of(field.shape));
        let mask = mask.map_or(0, Image::read);
        let (parts, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let result = scratch.result.pointer();
        // SAFETY: fields and mask have one shape, and reads are clamped to it. `parts` has room for the statistics of
        // each block, and `result` has seven numbers.
        unsafe {
            match other.map(Field::read) {
                Some(v) => self.launch(launch, arguments![u, v, mask, shape, slices, parts, counter, result])?,
                None => self.launch(launch, arguments![u, mask, shape, slices, parts, counter, result])?,
            }
        }
        let mut found = [0.0; 7];
        scratch.result.download_into(&mut found)?;
        let [sum, low, high, counted, not_positive, corner_low, corner_not_positive] = found;
        Ok(Statistics {
            counted: counted as u64,
            sum,
            low: low as f32,
            high: high as f32,
            not_positive: not_positive as u64,
            corner_low: corner_low as f32,
            corner_not_positive: corner_not_positive as u64,
        })
    }
}
