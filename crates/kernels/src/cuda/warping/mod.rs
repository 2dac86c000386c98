//! Images resampled through affine maps and displacement fields.

mod spline_coefficients;
mod warp;
mod warp_sinc;
mod warp_spline;

use antsreg_core::AffineTransform;

use super::launch::{Affine, Launch, Shape, arguments};
use super::{Cuda, Field, Image};
use crate::ops::Warping;
use crate::{Error, Sampling};

impl Warping for Cuda {
    fn resample(
        &self,
        image: &Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Image,
    ) -> Result<(), Error> {
        let bytes = 4 * (image.len() + out.len()) as u64;
        let launch = Launch::over_voxels(&self.kernels.resample(&self.device)?.resample, out.shape, bytes);
        let (source, target) = (image.read(), out.write());
        let (source_shape, shape, map) = (Shape::of(image.shape), Shape::of(out.shape), Affine::of(out_to_image));
        // SAFETY: only voxels within the image's shape are read, and threads outside the output's shape write nothing.
        unsafe { self.launch(launch, arguments![source, source_shape, map, outside, target, shape]) }
    }

    fn warp(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Image,
    ) -> Result<(), Error> {
        warp::warp(self, [image], [field], [grid_to_image], sampling, [out])
    }

    fn warp_both(
        &self,
        images: [&Image; 2],
        fields: [&Field; 2],
        grid_to_image: [&AffineTransform; 2],
        sampling: Sampling,
        out: [&mut Image; 2],
    ) -> Result<(), Error> {
        warp::warp(self, images, fields, grid_to_image, sampling, out)
    }

    fn spline_coefficients(&self, image: &Image) -> Result<Image, Error> {
        spline_coefficients::spline_coefficients(self, image)
    }

    fn warp_spline(
        &self,
        coefficients: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        warp_spline::warp_spline(self, coefficients, field, grid_to_image, out)
    }

    fn warp_sinc(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        warp_sinc::warp_sinc(self, image, field, grid_to_image, out)
    }
}
