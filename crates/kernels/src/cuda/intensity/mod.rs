//! Operations on the intensities of one image.

mod gradient_magnitude;
mod gradient_profile;
mod quantiles;
mod signed_distance;
pub(super) mod smooth;

use antsreg_core::intensity::Quantiles;

use super::buffer::Buffer;
use super::launch::{Launch, arguments};
use super::{Cuda, Image};
use crate::ops::Intensity;
use crate::{DistanceLimits, Error, ProfileBin};
use quantiles::THREADS;

impl Intensity for Cuda {
    fn quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        quantiles::quantiles(self, image, low, high)
    }

    fn foreground_quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        quantiles::foreground_quantiles(self, image, low, high)
    }

    fn clip(&self, image: &mut Image, (low, high): (f32, f32), origin: f32, scale: f32) -> Result<(), Error> {
        let count = image.len() as u32;
        let launch = Launch::over_elements(
            &self.kernels.intensity(&self.device)?.clip,
            image.len(),
            THREADS,
            8 * image.len() as u64,
        );
        let target = image.write();
        // SAFETY: threads beyond the last voxel of the image return.
        unsafe { self.launch(launch, arguments![target, count, low, high, origin, scale]) }
    }

    fn map_intensities(&self, image: &mut Image, curve: &[f32]) -> Result<(), Error> {
        let last = Error::check_curve(curve)? as i32;
        let points = Buffer::from_slice(&self.device, curve)?;
        let kernel = &self.kernels.intensity(&self.device)?.map_intensities;
        let launch = Launch::over_elements(kernel, image.len(), THREADS, 8 * image.len() as u64);
        let (target, count, points) = (image.write(), image.len() as u32, points.pointer());
        // SAFETY: threads beyond the last voxel return. The curve has `last` + 1 points, and only these are read.
        unsafe { self.launch(launch, arguments![target, count, points, last]) }
    }

    fn smooth(&self, image: &Image, sigma_voxels: [f64; 3]) -> Result<Image, Error> {
        smooth::smooth(self, image, sigma_voxels)
    }

    fn gradient_magnitude(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        gradient_magnitude::gradient_magnitude(self, image, spacing)
    }

    fn gradient_profile(&self, image: &Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error> {
        gradient_profile::gradient_profile(self, image, spacing)
    }

    fn signed_distance(&self, set: &Image, spacing_mm: [f64; 3], limits: DistanceLimits) -> Result<Image, Error> {
        signed_distance::signed_distance(self, set, spacing_mm, limits)
    }
}
