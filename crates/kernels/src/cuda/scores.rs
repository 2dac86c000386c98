//! Scores: Jacobian determinants and inverse consistency of fields, correlation of images.

use antsreg_core::jacobian::JacobianSummary;

use super::Cuda;
use super::field::Field;
use super::image::Image;
use super::launch::{Launch, Shape, arguments};
use super::module::Kernel;
use crate::scores::{PairSums, Statistics};
use crate::{Error, InverseConsistency};

impl Cuda {
    pub(super) fn summary_of_jacobian(&self, field: &Field, mask: Option<&Image>) -> Result<JacobianSummary, Error> {
        Error::check_shapes("jacobian_summary", field.shape, mask.map(|mask| mask.shape))?;
        Ok(self.statistics(&self.kernels.scores.jacobian_summary, field, None, mask)?.jacobian_summary())
    }

    pub(super) fn consistency_of(
        &self,
        first: &Field,
        then: &Field,
        mask: Option<&Image>,
    ) -> Result<InverseConsistency, Error> {
        Error::check_shape("inverse_consistency", first.shape, then.shape)?;
        Error::check_shapes("inverse_consistency", first.shape, mask.map(|mask| mask.shape))?;
        let kernel = &self.kernels.scores.inverse_consistency;
        Ok(self.statistics(kernel, first, Some(then), mask)?.inverse_consistency())
    }

    pub(super) fn correlation_of(&self, first: &Image, second: &Image, mask: Option<&Image>) -> Result<f64, Error> {
        let found = [Some(second), mask].into_iter().flatten().map(|image| image.shape);
        Error::check_shapes("correlation", first.shape, found)?;
        let blocks = self.blocks_for(first.len(), 256);
        let images = 2 + u64::from(mask.is_some());
        let bytes = images * 4 * first.len() as u64;
        let launch = Launch::of_blocks(&self.kernels.correlation.correlation, blocks, 256, bytes);
        let mut scratch = self.scratch();
        // Reserves memory for the partial sums of the correlation: 48 bytes for each thread block.
        scratch.reserve(&self.device, 3 * blocks as usize)?;
        let (a, b, shape) = (first.read(), second.read(), Shape::of(first.shape));
        let mask = mask.map_or(0, Image::read);
        let (parts, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let result = scratch.result.pointer();
        // SAFETY: images and mask have one shape, and only voxels within it are read. `parts` has room for the sums of
        // each block, and `result` has six numbers.
        unsafe { self.launch(launch, arguments![a, b, mask, shape, parts, counter, result])? };
        let mut found = [0.0; 6];
        scratch.result.download_into(&mut found)?;
        let [a, b, aa, bb, ab, counted] = found;
        Ok(PairSums { counted: counted as u64, a, b, aa, bb, ab }.correlation())
    }

    /// Launches a kernel that computes statistics of a quantity with one number per voxel, and waits for the result.
    /// All fields and the mask have one shape.
    fn statistics(
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
