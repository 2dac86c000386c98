//! Images resampled through affine maps and displacement fields.

mod resample;
mod warp;
mod warp_sinc;
mod warp_spline;

use antsreg_core::AffineTransform;

use super::{Cpu, Field, Image};
use crate::ops::Warping;
use crate::{Error, Sampling, spline};

impl Warping for Cpu {
    fn resample(
        &self,
        image: &Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Image,
    ) -> Result<(), Error> {
        resample::resample(image, out_to_image, outside, out);
        Ok(())
    }

    fn warp(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp", field.shape, out.shape)?;
        warp::warp(image, field, grid_to_image, sampling, out);
        Ok(())
    }

    fn spline_coefficients(&self, image: &Image) -> Result<Image, Error> {
        Ok(Image { shape: image.shape, voxels: spline::coefficients(image.shape, &image.voxels).into() })
    }

    fn warp_spline(
        &self,
        coefficients: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp_spline", field.shape, out.shape)?;
        warp_spline::warp_spline(coefficients, field, grid_to_image, out);
        Ok(())
    }

    fn warp_sinc(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp_sinc", field.shape, out.shape)?;
        warp_sinc::warp_sinc(image, field, grid_to_image, out);
        Ok(())
    }
}
