//! What a metric writes, as a kernel argument.

use super::Cuda;
use super::field::Field;
use super::image::Image;
use super::launch::{Argument, Vector};
use crate::metric_output::physical_factors;
use crate::{Error, MetricOutput};

/// Kernel argument with the layout of `Output` in `cu/cross_correlation.cuh`: where a metric writes its derivatives or
/// updates.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    fixed: u64,
    moving: u64,
    updates: i32,
    metric: Vector,
}
impl Argument for Output {}

impl Output {
    /// Where `operation` writes its output, which must have the shape `shape`.
    pub(super) fn of(
        operation: &'static str,
        shape: [usize; 3],
        out: MetricOutput<'_, Cuda>,
    ) -> Result<Output, Error> {
        let (shapes, [fixed, moving], spacing) = match out {
            MetricOutput::Derivatives(images) => {
                (images.each_ref().map(|image| image.shape), images.map(Image::write), None)
            }
            MetricOutput::Updates { fields, spacing } => {
                (fields.each_ref().map(|field| field.shape), fields.map(Field::write), Some(spacing))
            }
        };
        Error::check_shapes(operation, shape, shapes)?;
        let (updates, metric) = (i32::from(spacing.is_some()), Vector(physical_factors(spacing.unwrap_or([1.0; 3]))));
        Ok(Output { fixed, moving, updates, metric })
    }

    /// Number of floats that are written for each voxel.
    pub(super) fn numbers(&self) -> u64 {
        if self.updates == 1 { 6 } else { 2 }
    }
}
