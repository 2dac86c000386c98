//! Estimates of the GPU memory that N4 takes.

use antsreg_core::Grid;

use super::axis::Axis;
use super::{Options, spline};

/// Returns an upper bound of the GPU memory for finding the bias field of an image and for dividing the image by the
/// field, in bytes.
pub fn device_bytes(grid: &Grid, options: &Options) -> u64 {
    let axes: [Axis; 3] = std::array::from_fn(|axis| Axis::of(grid, axis, options.mesh));
    let refined = options.iterations.len().saturating_sub(1) as u32;
    let [px, py, pz] = axes.map(|axis| spline::points(axis.elements.saturating_mul(2_usize.saturating_pow(refined))));
    let [nx, ny, nz] = axes.map(|axis| axis.voxels / options.shrink.max(1) + 1);
    let product = |factors: &[usize]| factors.iter().fold(1_u64, |product, n| product.saturating_mul(*n as u64));
    // Finding the bias field needs memory for four numbers of each sampled voxel: three in single precision, and the
    // residual of the fit in double precision. The sums of the B-spline fit along each axis, and three lattices of
    // control points, are in double precision.
    let samples = product(&[20, nx, ny, nz]);
    let sums = product(&[8, px, ny, nz]).saturating_add(product(&[8, px, py, nz]));
    let lattices = product(&[3 * 8, px, py, pz]);
    let finding = samples.saturating_add(sums).saturating_add(lattices);
    // Dividing the image by the bias field needs memory for the image in single precision, and for the B-spline's
    // control points of each slice in double precision.
    let dividing = product(&[4, grid.len()]).saturating_add(product(&[8, px, py, grid.shape[2]]));
    finding.max(dividing)
}
