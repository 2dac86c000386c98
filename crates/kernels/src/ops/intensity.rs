//! Operations on the intensities of one image.

use antsreg_core::intensity::Quantiles;

use super::Memory;
use crate::{DistanceLimits, Error, ProfileBin};

/// Operations on the intensities of one image. Conventions are those of [`Backend`](crate::Backend).
pub trait Intensity: Memory {
    /// The quantiles of an image's values, as [`quantiles`](antsreg_core::intensity::quantiles) computes them.
    fn quantiles(&self, image: &Self::Image, low: f64, high: f64) -> Result<Quantiles, Error>;

    /// The quantiles of an image's values without its background, as
    /// [`foreground_quantiles`](antsreg_core::intensity::foreground_quantiles) computes them.
    fn foreground_quantiles(&self, image: &Self::Image, low: f64, high: f64) -> Result<Quantiles, Error>;

    /// Clips an image to a range and rescales it: image(x) ← (min(max(image(x), low), high) − origin)·scale.
    fn clip(&self, image: &mut Self::Image, low_high: (f32, f32), origin: f32, scale: f32) -> Result<(), Error>;

    /// Maps intensities from 0 to 1 by a curve: image(x) ← curve(image(x)). The curve is linear between its points,
    /// at least two, which are equally spaced from 0 to 1. Values outside this range are mapped like its ends.
    fn map_intensities(&self, image: &mut Self::Image, curve: &[f32]) -> Result<(), Error>;

    /// Gaussian smoothing, separable, with the kernel of [`gaussian::kernel`](crate::gaussian::kernel) on each axis
    /// with positive sigma. Beyond its border the image continues with the border value.
    fn smooth(&self, image: &Self::Image, sigma_voxels: [f64; 3]) -> Result<Self::Image, Error>;

    /// The gradient magnitude ‖∇image‖ by central differences, one-sided at the border. The difference along an axis is
    /// divided by the ratio of the axis's spacing to the finest spacing.
    fn gradient_magnitude(&self, image: &Self::Image, spacing: [f64; 3]) -> Result<Self::Image, Error>;

    /// The mean gradient magnitude, as of [`gradient_magnitude`](Intensity::gradient_magnitude), of the voxels of similar
    /// intensity. The range of intensities from 0 to 1 is divided into [`PROFILE_BINS`](crate::PROFILE_BINS) bins; values outside the range
    /// count in the first or the last bin, values that are not finite in none.
    /// Magnitudes count up to 2, in steps of 2⁻²⁰.
    fn gradient_profile(&self, image: &Self::Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error>;

    /// The signed distance of each voxel to the border of a set of voxels, those above 0.5: for a voxel of the set, the
    /// distance of its centre to the nearest centre of a voxel outside, mm; for other voxels, minus the distance to the
    /// nearest centre of a voxel of the set. The exact Euclidean distance, computed along one axis after the other (Saito
    /// and Toriwaki 1994).
    fn signed_distance(
        &self,
        set: &Self::Image,
        spacing_mm: [f64; 3],
        limits: DistanceLimits,
    ) -> Result<Self::Image, Error>;
}
