//! Updates of displacement fields, and the steps along them.

use super::Cuda;
use super::field::{Field, plane};
use super::image::Image;
use super::launch::{Argument, Launch, Shape, Vector, arguments, sides};
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

/// Largest number of slices of a thread that moves a field in place. With more, reads and writes are further apart.
const MOST_SLICES: usize = 4;

impl Cuda {
    /// Computes an update and smooths it component by component. Components wait in the second and third plane of the
    /// output and in the memory of the derivatives, until the plane before is free.
    pub(super) fn smooth_update(
        &self,
        image: &Image,
        derivative: &mut Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        let shape = image.shape;
        Error::check_shapes("smoothed_update", shape, [derivative.shape, out.shape])?;
        let planes = [0, 1, 2].map(|n| out.write() + 4 * n * plane(shape) as u64);
        let from = derivative.write();
        let waiting = [planes[1], planes[2], from];
        let [x_and_y, _, z] = if variance_voxels == 0.0 { planes } else { waiting };
        let launch = Launch::over_voxels(&self.kernels.update.update, shape, (2 + 3) * 4 * image.len() as u64);
        let (values, metric, dimensions) = (image.read(), Vector(physical_factors(spacing)), Shape::of(shape));
        // SAFETY: image, derivatives and components are planes of this shape. Reads of neighbours are clamped to it, and
        // threads outside it return. A thread reads the derivative of its voxel before it writes there.
        unsafe { self.launch(launch, arguments![values, from, x_and_y, z, dimensions, metric])? };
        if variance_voxels > 0.0 {
            for (from, to) in waiting.into_iter().zip(planes) {
                // SAFETY: both are planes of this shape and do not overlap.
                unsafe { self.smooth_plane(from, variance_voxels, to, shape)? };
            }
        }
        Ok(())
    }

    /// Moves one displacement field, or two of one shape, along their updates. Each update is scaled so that its longest
    /// vector has a given length. The scales stay on the device, so the host does not wait.
    pub(super) fn advance_fields<const N: usize>(
        &self,
        fields: [&mut Field; N],
        updates: [&Field; N],
        step_voxels: f64,
    ) -> Result<(), Error> {
        let (len, shape) = (updates[0].len(), updates[0].shape);
        let found = fields.iter().map(|field| field.shape).chain(updates.iter().map(|update| update.shape));
        Error::check_shapes("advance", shape, found)?;
        let mut scratch = self.scratch();
        // Each thread of this kernel processes four voxels.
        let blocks = (len.div_ceil(4 * 256) as u32).min(8 * self.device.info.multiprocessors / N as u32);
        scratch.reserve(&self.device, N * blocks as usize)?;
        let launch = Launch::of_blocks(&self.kernels.max_norm.max_norm, blocks, 256, updates[0].bytes());
        let (walk, slices) = self.walk(&self.kernels.compose.advance, updates[0], N, MOST_SLICES);
        let (u, g) = (sides(fields, Field::write), sides(updates, Field::read));
        let (shape, count) = (Shape::of(shape), N as i32);
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let scales = scratch.scales.pointer();
        // SAFETY: `partial` has one float for each thread block, and `scales` has one factor for each field. Reads are
        // limited to the planes (components) of the fields.
        unsafe {
            self.launch(launch.for_sides(N), arguments![g, shape, step_voxels, partial, counter, scales])?;
        }
        // SAFETY: all fields have one shape. Reads are clamped to it, and threads outside it return. A thread reads the
        // displacements of its voxels before it writes them. The launch before this one on the same stream has written
        // `scales`, the factors of the updates.
        unsafe { self.launch(walk, arguments![u, g, scales, count, shape, slices]) }
    }
}
