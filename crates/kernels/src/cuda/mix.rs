//! Norms and weighted sums of update fields.

use super::Cuda;
use super::field::Field;
use super::launch::{Launch, Shape, arguments};
use crate::Error;

impl Cuda {
    pub(super) fn magnitude_of(&self, field: &Field) -> Result<f64, Error> {
        let mut scratch = self.scratch();
        let blocks = self.blocks_for(field.len(), 256);
        scratch.reserve(&self.device, blocks as usize)?;
        let launch = Launch::of_blocks(&self.kernels.mix.magnitude, blocks, 256, field.bytes());
        let (u, shape) = (field.read(), Shape::of(field.shape));
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let result = scratch.result.pointer();
        // SAFETY: `partial` has one number for each block, and only voxels of the field are read.
        unsafe { self.launch(launch, arguments![u, shape, partial, counter, result])? };
        let mut magnitude = [0.0];
        scratch.result.download_into(&mut magnitude)?;
        Ok(magnitude[0])
    }

    pub(super) fn add_scaled_field(&self, field: &mut Field, other: &Field, scale: f64) -> Result<(), Error> {
        Error::check_shape("add_scaled", field.shape, other.shape)?;
        let launch = Launch::over_elements(&self.kernels.mix.add_scaled, field.len(), 256, 3 * field.bytes());
        let (u, v, shape, scale) = (field.write(), other.read(), Shape::of(field.shape), scale as f32);
        // SAFETY: both fields have one shape, and threads beyond the last voxel return.
        unsafe { self.launch(launch, arguments![u, v, scale, shape]) }
    }
}
