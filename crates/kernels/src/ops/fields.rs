//! Operations on displacement fields.

use antsreg_core::AffineTransform;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::Matrix3;

use super::Memory;
use crate::{AxisMap, Error, InverseConsistency, InversionLimits};

/// Operations on displacement fields. Conventions are those of [`Backend`](crate::Backend).
pub trait Fields: Memory {
    /// A linear map along one axis in the memory of the device.
    type AxisMap: Send + Sync + 'static;

    /// Computes the update of one image from the derivatives of a metric, as
    /// [`MetricOutput::Updates`](crate::MetricOutput::Updates) describes, and smooths it as
    /// [`smooth_both_fields`](Fields::smooth_both_fields) does. The bits are those of one after the other. `spacing` is in
    /// mm, `variance_voxels` in voxels², the update in voxels. The values of `derivative` are lost. No memory is needed
    /// but the operands, except on the CPU for a copy of the field, where the variance is below 0.5.
    fn smoothed_update(
        &self,
        image: &Self::Image,
        derivative: &mut Self::Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Gaussian smoothing of two fields of one shape by `variance_voxels` on each axis, as for images, with ITK's
    /// rules: for a variance below 0.5 the result is blended with the unsmoothed field; border voxels are set to
    /// zero. A variance of 0 leaves the fields unchanged. Components are smoothed independently: a component that is
    /// zero everywhere stays zero.
    fn smooth_both_fields(
        &self,
        fields: [&mut Self::Field; 2],
        variance_voxels: f64,
        scratch: [&mut Self::Field; 2],
    ) -> Result<(), Error>;

    /// Norm of a field u, √Σ‖u‖² over all voxels. The updates of several channels are divided by their norms before
    /// they are added up.
    fn magnitude(&self, field: &Self::Field) -> Result<f64, Error>;

    /// Adds a scaled displacement field to another field: field(x) ← field(x) + scale·other(x).
    fn add_scaled(&self, field: &mut Self::Field, other: &Self::Field, scale: f64) -> Result<(), Error>;

    /// A copy of a field whose displacements u (voxels) are converted to other units, such as mm, rounded as by
    /// [`download_field_in`](crate::ops::Memory::download_field_in), and converted back to voxels: B·round(A·u). `there_and_back`
    /// are the matrix A, which converts voxels to the units of `step`, and its inverse B.
    fn round_field(
        &self,
        field: &Self::Field,
        there_and_back: [&Matrix3<f32>; 2],
        step: f32,
    ) -> Result<Self::Field, Error>;

    /// Composes two fields, `then` after `field`, in place: field(x) ← field(x) + then(x + field(x)).
    fn compose(&self, field: &mut Self::Field, then: &Self::Field) -> Result<(), Error>;

    /// One step of length `step_voxels` of a field u along its update g: u(x) becomes u(x) + s·g(x + u(x)) with s =
    /// `step_voxels` / max‖g‖, or 0 if g is zero.
    fn advance(&self, field: &mut Self::Field, update: &Self::Field, step_voxels: f64) -> Result<(), Error>;

    /// One step of two fields of one shape, each along its own update, like [`advance`](Fields::advance).
    fn advance_both(
        &self,
        fields: [&mut Self::Field; 2],
        updates: [&Self::Field; 2],
        step_voxels: f64,
    ) -> Result<(), Error> {
        let mut pairs = fields.into_iter().zip(updates);
        pairs.try_for_each(|(field, update)| self.advance(field, update, step_voxels))
    }

    /// Improves the inverse v of a displacement field u: `inverse` has the initial v and receives the result. At each
    /// voxel: up to 2 fixed-point steps v(x) ← −u(x + v(x)), then Newton steps of at most one voxel, until the residual
    /// is within the limits. Border voxels of v are zero.
    ///
    /// ITK steps all voxels together until the mean and the largest residual are small. The steps of a voxel do not
    /// depend on other voxels, so here each voxel stops on its own and one pass over memory does all steps.
    fn invert(&self, field: &Self::Field, inverse: &mut Self::Field, limits: &InversionLimits) -> Result<(), Error>;

    /// Improves the inverses of two fields of one shape, like [`invert`](Fields::invert).
    fn invert_both(
        &self,
        fields: [&Self::Field; 2],
        inverses: [&mut Self::Field; 2],
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        let mut pairs = fields.into_iter().zip(inverses);
        pairs.try_for_each(|(field, inverse)| self.invert(field, inverse, limits))
    }

    /// Inverse consistency of two fields: statistics of ‖u(x) + v(x + u(x))‖, the distance between x and its position
    /// after both fields, over all voxels x; u is `first`, v is `then`. With a `mask`, only voxels count where it
    /// exceeds ½. 0 means that the fields are inverse to each other.
    ///
    /// For fields that are zero at their border the result is that of
    /// [`apply::inverse_consistency`](crate::apply::inverse_consistency) in world space, except for rounding to single
    /// precision. The reason is that v is then zero outside the grid in both functions.
    fn inverse_consistency(
        &self,
        first: &Self::Field,
        then: &Self::Field,
        mask: Option<&Self::Image>,
    ) -> Result<InverseConsistency, Error>;

    /// Resamples a field on another grid: out(x) = matrix·field(m(x)), with the map m = `out_to_field`. `matrix`
    /// converts the vectors to voxels of the other grid or to other units.
    ///
    /// If m is the identity, `matrix` is diagonal and all vectors are finite, a component whose diagonal element is 0
    /// becomes exactly 0. A component whose diagonal element is 1 is unchanged, except that the last voxel of an axis
    /// may change by rounding.
    fn resize_field(
        &self,
        field: &Self::Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Copies a linear map along one axis to the device.
    fn axis_map(&self, map: &AxisMap) -> Result<Self::AxisMap, Error>;

    /// Applies a linear map to the vectors of a field along one axis (0 to 2): each result is a weighted sum of
    /// successive vectors, in their order. `out` has the shape of the field, with as many voxels along the axis as the
    /// map has results ([`AxisMap::mapped`]).
    fn map_axis(
        &self,
        field: &Self::Field,
        axis: usize,
        map: &Self::AxisMap,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Statistics of the Jacobian determinants det(∂(x + u(x))/∂x) over the voxels where `mask`, if given, exceeds ½,
    /// by central differences, one-sided at the border. Also statistics of the smallest determinant of each voxel over
    /// all combinations of one-sided differences, which is the smallest determinant at the corners of the trilinear
    /// cells that meet at the voxel. A NaN counts as folded. The determinants are those of the same map in world space,
    /// for any spacing and direction of the grid, because the matrices are similar.
    fn jacobian_summary(&self, field: &Self::Field, mask: Option<&Self::Image>) -> Result<JacobianSummary, Error>;
}
