//! Operations on displacement fields.

mod advance;
mod invert;
mod map_axis;
mod smoothed_update;
mod statistics;
mod walk;

use antsreg_core::AffineTransform;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::Matrix3;

use super::intensity::smooth;
use super::launch::{Affine, Launch, Shape, arguments};
use super::memory::layout::{over_list, rows};
use super::{Cuda, Field, Image};
use crate::ops::Fields;
use crate::{AxisMap, Error, InverseConsistency, InversionLimits};
use walk::walk;

pub use map_axis::DeviceAxisMap;

/// Largest number of slices of a thread that composes fields. With more slices for each thread, too few threads would
/// remain to fill the GPU.
const MOST_SLICES: usize = 8;

impl Fields for Cuda {
    type AxisMap = DeviceAxisMap;

    fn smoothed_update(
        &self,
        image: &Image,
        derivative: &mut Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        smoothed_update::smoothed_update(self, image, derivative, spacing, variance_voxels, out)
    }

    fn smooth_both_fields(
        &self,
        fields: [&mut Field; 2],
        variance_voxels: f64,
        scratch: [&mut Field; 2],
    ) -> Result<(), Error> {
        smooth::smooth_both_fields(self, fields, variance_voxels, scratch)
    }

    fn magnitude(&self, field: &Field) -> Result<f64, Error> {
        let mut scratch = self.scratch();
        let blocks = self.blocks_for(field.len(), 256);
        scratch.reserve(&self.device, blocks as usize)?;
        let launch = Launch::of_blocks(&self.kernels.mix(&self.device)?.magnitude, blocks, 256, field.bytes());
        let (u, shape) = (field.read(), Shape::of(field.shape));
        let (partial, counter) = (scratch.partial.pointer(), scratch.counter.pointer());
        let result = scratch.result.pointer();
        // SAFETY: `partial` has one number for each block, and only voxels of the field are read.
        unsafe { self.launch(launch, arguments![u, shape, partial, counter, result])? };
        let mut magnitude = [0.0];
        scratch.result.download_into(&mut magnitude)?;
        Ok(magnitude[0])
    }

    fn add_scaled(&self, field: &mut Field, other: &Field, scale: f64) -> Result<(), Error> {
        Error::check_shape("add_scaled", field.shape, other.shape)?;
        let launch =
            Launch::over_elements(&self.kernels.mix(&self.device)?.add_scaled, field.len(), 256, 3 * field.bytes());
        let (u, v, shape, scale) = (field.write(), other.read(), Shape::of(field.shape), scale as f32);
        // SAFETY: both fields have one shape, and threads beyond the last voxel return.
        unsafe { self.launch(launch, arguments![u, v, scale, shape]) }
    }

    fn round_field(&self, field: &Field, matrices: [&Matrix3<f32>; 2], step: f32) -> Result<Field, Error> {
        let mut out = Field::uninitialised(&self.device, field.shape)?;
        let [[x, y, z], [back_x, back_y, back_z]] = matrices.map(rows);
        let launch = over_list(&self.kernels.layout(&self.device)?.round_vectors, field);
        let (source, target, shape) = (field.read(), out.write(), Shape::of(field.shape));
        // SAFETY: both fields have one shape, and threads beyond the last voxel return.
        unsafe { self.launch(launch, arguments![source, x, y, z, back_x, back_y, back_z, step, target, shape])? };
        Ok(out)
    }

    fn compose(&self, field: &mut Field, then: &Field) -> Result<(), Error> {
        Error::check_shape("compose", field.shape, then.shape)?;
        let (launch, slices) = walk(self, &self.kernels.compose(&self.device)?.compose_fields, field, 1, MOST_SLICES);
        let (both, then, shape) = (field.write(), then.read(), Shape::of(field.shape));
        // SAFETY: both fields have one shape, and `then` is another field. Reads are clamped to the shape, and threads
        // outside it return.
        unsafe { self.launch(launch, arguments![both, then, shape, slices]) }
    }

    fn advance(&self, field: &mut Field, update: &Field, step_voxels: f64) -> Result<(), Error> {
        advance::advance(self, [field], [update], step_voxels)
    }

    fn advance_both(&self, fields: [&mut Field; 2], updates: [&Field; 2], step_voxels: f64) -> Result<(), Error> {
        advance::advance(self, fields, updates, step_voxels)
    }

    fn invert(&self, field: &Field, inverse: &mut Field, limits: &InversionLimits) -> Result<(), Error> {
        invert::invert(self, [field], [inverse], limits)
    }

    fn invert_both(
        &self,
        fields: [&Field; 2],
        inverses: [&mut Field; 2],
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        invert::invert(self, fields, inverses, limits)
    }

    fn inverse_consistency(
        &self,
        first: &Field,
        then: &Field,
        mask: Option<&Image>,
    ) -> Result<InverseConsistency, Error> {
        Error::check_shape("inverse_consistency", first.shape, then.shape)?;
        Error::check_shapes("inverse_consistency", first.shape, mask.map(|mask| mask.shape))?;
        let kernel = &self.kernels.scores(&self.device)?.inverse_consistency;
        Ok(self.statistics(kernel, first, Some(then), mask)?.inverse_consistency())
    }

    fn resize_field(
        &self,
        field: &Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Field,
    ) -> Result<(), Error> {
        let launch = Launch::over_voxels(
            &self.kernels.resize_field(&self.device)?.resize_field,
            out.shape,
            field.bytes() + out.bytes(),
        );
        let (source, target) = (field.read(), out.write());
        let (source_shape, shape) = (Shape::of(field.shape), Shape::of(out.shape));
        let map = Affine::of(out_to_field);
        let [x, y, z] = rows(&matrix.cast());
        // SAFETY: reads are clamped to the shape of `field`, and threads outside the output's shape return.
        unsafe { self.launch(launch, arguments![source, source_shape, map, x, y, z, target, shape]) }
    }

    fn axis_map(&self, map: &AxisMap) -> Result<DeviceAxisMap, Error> {
        DeviceAxisMap::new(&self.device, map)
    }

    fn map_axis(&self, field: &Field, axis: usize, map: &DeviceAxisMap, out: &mut Field) -> Result<(), Error> {
        map_axis::map_axis(self, field, axis, map, out)
    }

    fn jacobian_summary(&self, field: &Field, mask: Option<&Image>) -> Result<JacobianSummary, Error> {
        Error::check_shapes("jacobian_summary", field.shape, mask.map(|mask| mask.shape))?;
        Ok(self
            .statistics(&self.kernels.scores(&self.device)?.jacobian_summary, field, None, mask)?
            .jacobian_summary())
    }
}

impl Cuda {
    /// The Jacobian determinants from which [`jacobian_summary`](Fields::jacobian_summary) computes its statistics, the
    /// same as those of [`Cpu::jacobian_determinant`](crate::Cpu::jacobian_determinant), bit for bit. Only tests use them.
    pub fn jacobian_determinant(&self, field: &Field, out: &mut Image) -> Result<(), Error> {
        Error::check_shape("jacobian_determinant", field.shape, out.shape)?;
        let kernel = &self.kernels.jacobian(&self.device)?.jacobian_determinant;
        let launch = Launch::over_voxels(kernel, field.shape, field.bytes() + 4 * out.len() as u64);
        let (source, target, shape) = (field.read(), out.write(), Shape::of(field.shape));
        // SAFETY: field and image have one shape. Reads of neighbours are clamped to it, and threads outside it return.
        unsafe { self.launch(launch, arguments![source, target, shape]) }
    }
}
