//! Relaxes a field where it folds, and where its inverse cannot follow it.

use super::Cuda;
use super::field::Field;
use super::launch::{Launch, Shape, arguments};
use crate::relax::{REACH, VARIANCE};
use crate::{Error, RelaxLimits};

impl Cuda {
    pub(super) fn relax_field(
        &self,
        field: &mut Field,
        inverse: &Field,
        limits: &RelaxLimits,
    ) -> Result<usize, Error> {
        Error::check_shape("relax", field.shape, inverse.shape)?;
        let kernels = &self.kernels.relax;
        let (u, v, shape) = (field.write(), inverse.read(), Shape::of(field.shape));
        let limits = [limits.smallest_jacobian, limits.largest_residual_voxels * limits.largest_residual_voxels];
        let mut weights = self.new_image(field.shape)?;
        let weight = weights.write();
        let beyond = {
            let mut scratch = self.scratch();
            scratch.count.clear(0..1)?;
            let count = scratch.count.pointer();
            let launch = Launch::over_voxels(&kernels.spread_beyond, field.shape, 2 * field.bytes());
            let reach = REACH as i32;
            // SAFETY: both fields and the weights have one shape; reads and the writes around a voxel are clamped to it,
            // threads outside it only vote.
            unsafe { self.launch(launch, arguments![u, v, limits, reach, weight, shape, count])? };
            let mut beyond = [0];
            scratch.count.download_into(&mut beyond)?;
            beyond[0] as usize
        };
        if beyond == 0 {
            return Ok(0);
        }
        let mut smoothed = Field::uninitialised(&self.device, field.shape)?;
        self.smooth_into(field, VARIANCE, &mut smoothed)?;
        let launch = Launch::over_voxels(&kernels.relax, field.shape, field.bytes() / 3);
        let target = smoothed.read();
        // SAFETY: three volumes of one shape, threads outside it return.
        unsafe { self.launch(launch, arguments![u, target, weight, shape])? };
        Ok(beyond)
    }
}
