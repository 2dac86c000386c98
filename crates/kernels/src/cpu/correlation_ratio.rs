//! The correlation ratio of a batch of transforms.

use antsreg_core::AffineTransform;

use super::image::Image;
use crate::Error;

/// Fixed voxels with their bins.
#[derive(Debug)]
pub struct FixedBins {}

pub(super) fn bin_fixed(
    _fixed: &Image,
    _weight: Option<&Image>,
    _low_high: (f32, f32),
    _bins: usize,
) -> Result<FixedBins, Error> {
    Ok(FixedBins {})
}

pub(super) fn costs(
    _fixed: &FixedBins,
    _moving: &Image,
    _moving_weight: Option<&Image>,
    _edge_voxels: [f64; 3],
    fixed_to_moving: &[AffineTransform],
) -> Result<Vec<f64>, Error> {
    Ok(vec![1.0; fixed_to_moving.len()])
}
