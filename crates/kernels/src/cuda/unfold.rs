//! Relaxes a field where it folds.

use super::Cuda;
use super::field::Field;
use super::launch::{Launch, Shape, arguments};
use crate::Error;
use crate::unfold::{REACH, VARIANCE};

impl Cuda {
    pub(super) fn unfold_field(&self, field: &mut Field, smallest: f32) -> Result<usize, Error> {
        let kernels = &self.kernels.unfold;
        let (u, shape) = (field.write(), Shape::of(field.shape));
        let folds = {
            let mut scratch = self.scratch();
            scratch.count.clear(0..1)?;
            let count = scratch.count.pointer();
            let launch = Launch::over_voxels(&kernels.count_folds, field.shape, field.bytes());
            // SAFETY: neighbours are clamped to the shape, threads outside it only vote.
            unsafe { self.launch(launch, arguments![u, smallest, shape, count])? };
            let mut folds = [0];
            scratch.count.download_into(&mut folds)?;
            folds[0] as usize
        };
        if folds == 0 {
            return Ok(0);
        }
        let mut smoothed = Field::uninitialised(&self.device, field.shape)?;
        self.smooth_into(field, VARIANCE, &mut smoothed)?;
        let mut weights = self.new_image(field.shape)?;
        let weight = weights.write();
        let reach = REACH as i32;
        let launch = Launch::over_voxels(&kernels.spread_folds, field.shape, field.bytes());
        // SAFETY: as above; `weights` has the field's shape and so have the writes around a fold.
        unsafe { self.launch(launch, arguments![u, smallest, reach, weight, shape])? };
        let launch = Launch::over_voxels(&kernels.relax_folds, field.shape, field.bytes() / 3);
        let target = smoothed.read();
        // SAFETY: three volumes of one shape, threads outside it return.
        unsafe { self.launch(launch, arguments![u, target, weight, shape])? };
        Ok(folds)
    }
}
