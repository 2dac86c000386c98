//! Operations on the intensities of one image.

mod gradient_magnitude;
mod gradient_profile;
mod signed_distance;
pub(super) mod smooth;

use antsreg_core::intensity::{self, Quantiles, all_quantiles};
use rayon::prelude::*;

use super::{Cpu, Image};
use crate::ops::Intensity;
use crate::{DistanceLimits, Error, ProfileBin};

pub use signed_distance::signed_distance;

impl Intensity for Cpu {
    fn quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        Ok(all_quantiles(&image.voxels, low, high))
    }

    fn foreground_quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        Ok(intensity::foreground_quantiles(&image.voxels, low, high))
    }

    fn clip(&self, image: &mut Image, (low, high): (f32, f32), origin: f32, scale: f32) -> Result<(), Error> {
        image.voxels.par_iter_mut().for_each(|value| *value = (value.clamp(low, high) - origin) * scale);
        Ok(())
    }

    fn map_intensities(&self, image: &mut Image, curve: &[f32]) -> Result<(), Error> {
        let last = Error::check_curve(curve)?;
        image.voxels.par_iter_mut().for_each(|value| {
            let at = value.clamp(0.0, 1.0) * last as f32;
            // NaN becomes the index 0 here, and stays NaN in the interpolation.
            let below = (at as usize).min(last - 1);
            *value = curve[below] + (at - below as f32) * (curve[below + 1] - curve[below]);
        });
        Ok(())
    }

    fn smooth(&self, image: &Image, sigma_voxels: [f64; 3]) -> Result<Image, Error> {
        Ok(smooth::smooth(image, sigma_voxels))
    }

    fn gradient_magnitude(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        Ok(gradient_magnitude::gradient_magnitude(image, spacing))
    }

    fn gradient_profile(&self, image: &Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error> {
        Ok(gradient_profile::gradient_profile(image, spacing))
    }

    fn signed_distance(&self, set: &Image, spacing_mm: [f64; 3], limits: DistanceLimits) -> Result<Image, Error> {
        let inside: Vec<bool> = set.voxels.par_iter().map(|value| *value > 0.5).collect();
        let voxels = signed_distance(set.shape, spacing_mm, &inside, limits);
        Ok(Image { shape: set.shape, voxels: voxels.into() })
    }
}
