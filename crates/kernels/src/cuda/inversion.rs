//! The inverse of a displacement field by fixed-point steps.

use super::Cuda;
use super::field::Field;
use super::launch::{Launch, Shape, arguments};
use crate::{Error, InversionLimits};

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
}
