//! The device memory of N4's mesh.

use std::sync::Arc;

use super::axes::Axes;
use crate::Error;
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;

/// B-spline mesh over the samples of N4, with the control points of the present bias field.
pub struct BiasMesh {
    pub(super) axes: Axes,
    /// For each control point, the denominator of the weighted mean that defines it in a fit: the sum, over the samples
    /// that it influences, of the sample's weight times the squared B-spline weight.
    pub(super) squares: Buffer<f64>,
    pub(super) field: Buffer<f64>,
    pub(super) expected: Option<Buffer<f64>>,
    pub(super) residuals: Buffer<f64>,
    /// Sums along the first axis: one number for each row of samples and each control point of the first axis.
    pub(super) rows: Buffer<f64>,
    /// One number for each slice of samples and each control point of the first two axes. The buffer has two uses: for
    /// residuals summed along the first two axes, and for control points of the bias field, combined along the third
    /// axis.
    pub(super) planes: Buffer<f64>,
    pub(super) sums: Buffer<f64>,
    pub(super) tally: Tally,
}

/// GPU memory for the sums and the range of each row of samples, and for the results of an N4 iteration that the host
/// reads.
pub(super) struct Tally {
    pub(super) sums: Buffer<f64>,
    pub(super) ranges: Buffer<f32>,
    pub(super) outcome: Option<Buffer<u64>>,
}

impl Tally {
    pub(super) fn new(device: &Arc<Device>, rows: usize) -> Result<Tally, Error> {
        Ok(Tally {
            sums: Buffer::uninitialised(device, 2 * rows)?,
            ranges: Buffer::uninitialised(device, 2 * rows)?,
            outcome: None,
        })
    }
}
