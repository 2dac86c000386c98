//! Operations on displacement fields.

mod compose;
mod inverse_consistency;
pub(super) mod invert;
mod jacobian_determinant;
mod jacobian_summary;
mod map_axis;
pub(super) mod newton;
pub(super) mod residual;
mod resize_field;
mod statistics;

use antsreg_core::AffineTransform;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use super::gradient::Update;
use super::intensity::smooth;
use super::{Cpu, Field, Image, widest};
use crate::ops::Fields;
use crate::rounding::rounded;
use crate::{AxisMap, Error, InverseConsistency, InversionLimits};

impl Fields for Cpu {
    type AxisMap = AxisMap;

    fn smoothed_update(
        &self,
        image: &Image,
        derivative: &mut Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        Error::check_shapes("smoothed_update", image.shape, [derivative.shape, out.shape])?;
        smooth::smoothed_update(&Update::new(image, derivative, spacing), variance_voxels, out);
        Ok(())
    }

    fn smooth_both_fields(
        &self,
        fields: [&mut Field; 2],
        variance_voxels: f64,
        scratch: [&mut Field; 2],
    ) -> Result<(), Error> {
        for (field, scratch) in fields.into_iter().zip(scratch) {
            Error::check_shape("smooth_both_fields", field.shape, scratch.shape)?;
            smooth::smooth_field(field, variance_voxels);
        }
        Ok(())
    }

    fn magnitude(&self, field: &Field) -> Result<f64, Error> {
        // Squares are summed within rows, and then over the rows in order.
        let rows = field.vectors().par_chunks(field.shape[0]).map(|row| {
            let square = |v: &[f32; 3]| v.iter().map(|c| f64::from(*c) * f64::from(*c)).sum::<f64>();
            row.iter().map(square).sum::<f64>()
        });
        Ok(rows.collect::<Vec<f64>>().into_iter().sum::<f64>().sqrt())
    }

    fn add_scaled(&self, field: &mut Field, other: &Field, scale: f64) -> Result<(), Error> {
        Error::check_shape("add_scaled", field.shape, other.shape)?;
        let ([nx, ny, _], scale) = (field.shape, scale as f32);
        field.vectors_mut().par_chunks_mut(nx * ny).zip(other.vectors().par_chunks(nx * ny)).for_each(
            |(field, other)| {
                widest(
                    #[inline(always)]
                    || {
                        for (u, v) in field.iter_mut().zip(other) {
                            *u = std::array::from_fn(|axis| u[axis] + scale * v[axis]);
                        }
                    },
                );
            },
        );
        Ok(())
    }

    fn round_field(&self, field: &Field, [there, back]: [&Matrix3<f32>; 2], step: f32) -> Result<Field, Error> {
        let mut out = Field::zeros(field.shape);
        out.vectors_mut().par_iter_mut().zip(field.vectors()).with_min_len(1 << 12).for_each(|(v, u)| {
            *v = (back * Vector3::from(rounded((there * Vector3::from(*u)).into(), Some(step)))).into();
        });
        Ok(out)
    }

    fn compose(&self, field: &mut Field, then: &Field) -> Result<(), Error> {
        Error::check_shape("compose", field.shape, then.shape)?;
        compose::compose(field, then);
        Ok(())
    }

    fn advance(&self, field: &mut Field, update: &Field, step_voxels: f64) -> Result<(), Error> {
        Error::check_shape("advance", field.shape, update.shape)?;
        compose::advance(field, update, step_voxels);
        Ok(())
    }

    fn invert(&self, field: &Field, inverse: &mut Field, limits: &InversionLimits) -> Result<(), Error> {
        Error::check_shape("invert", field.shape, inverse.shape)?;
        invert::invert(field, inverse, limits);
        Ok(())
    }

    fn inverse_consistency(
        &self,
        first: &Field,
        then: &Field,
        mask: Option<&Image>,
    ) -> Result<InverseConsistency, Error> {
        Error::check_shape("inverse_consistency", first.shape, then.shape)?;
        Error::check_shapes("inverse_consistency", first.shape, mask.map(|mask| mask.shape))?;
        Ok(inverse_consistency::inverse_consistency(first, then, mask))
    }

    fn resize_field(
        &self,
        field: &Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Field,
    ) -> Result<(), Error> {
        resize_field::resize_field(field, out_to_field, matrix, out);
        Ok(())
    }

    fn axis_map(&self, map: &AxisMap) -> Result<AxisMap, Error> {
        Ok(map.clone())
    }

    fn map_axis(&self, field: &Field, axis: usize, map: &AxisMap, out: &mut Field) -> Result<(), Error> {
        map.check(axis, field.shape, out.shape)?;
        map_axis::map_axis(field, axis, map, out);
        Ok(())
    }

    fn jacobian_summary(&self, field: &Field, mask: Option<&Image>) -> Result<JacobianSummary, Error> {
        Error::check_shapes("jacobian_summary", field.shape, mask.map(|mask| mask.shape))?;
        Ok(jacobian_summary::jacobian_summary(field, mask))
    }
}

impl Cpu {
    /// The Jacobian determinants from which [`jacobian_summary`](Fields::jacobian_summary) computes its statistics, one
    /// for each voxel. Only tests use them, to compare the CPU with the GPU.
    pub fn jacobian_determinant(&self, field: &Field, out: &mut Image) -> Result<(), Error> {
        Error::check_shape("jacobian_determinant", field.shape, out.shape)?;
        jacobian_determinant::jacobian_determinant(field, out);
        Ok(())
    }
}
