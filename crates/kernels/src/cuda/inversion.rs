//! The inverse of a displacement field by fixed-point steps, and how good it is.

use super::Cuda;
use super::field::Field;
use super::launch::{Launch, Shape, arguments};
use crate::{Error, Inversion, InversionLimits};

impl Cuda {
    pub(super) fn invert_field(
        &self,
        field: &Field,
        inverse: &mut Field,
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        Error::check_shape("invert", field.shape, inverse.shape)?;
        let kernel = &self.kernels.invert.invert;
        let launch = Launch::over_blocks(kernel, field.shape, [32, 4, 1], 1, 3 * field.bytes());
        let (u, v, shape) = (field.read(), inverse.write(), Shape::of(field.shape));
        let steps = limits.steps as i32;
        let squares = [limits.tolerance_voxels, limits.untouched_voxels].map(|length| length * length);
        // SAFETY: both fields have one shape; reads are clamped to it, threads outside it return.
        unsafe { self.launch(launch, arguments![u, v, v, steps, squares, shape]) }
    }

    pub(super) fn error_of_inversion(&self, field: &Field, inverse: &Field) -> Result<Inversion, Error> {
        Error::check_shape("inversion_error", field.shape, inverse.shape)?;
        let launch = Launch::over_voxels(&self.kernels.invert.inversion_error, field.shape, 2 * field.bytes());
        let mut scratch = self.scratch();
        scratch.reserve(&self.device, launch.blocks())?;
        let (u, v, shape) = (field.read(), inverse.read(), Shape::of(field.shape));
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let result = scratch.result.pointer();
        // SAFETY: as in `invert_field`; `partial` has room for a pair a block.
        unsafe { self.launch(launch, arguments![u, v, shape, partial, counter, result])? };
        let mut sums = [0.0; 2];
        scratch.result.download_into(&mut sums)?;
        Ok(Inversion { mean_voxels: sums[0] / field.len() as f64, max_voxels: sums[1] })
    }
}
