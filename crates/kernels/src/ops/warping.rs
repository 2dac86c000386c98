//! Images resampled through affine maps and displacement fields.

use antsreg_core::AffineTransform;

use super::Memory;
use crate::{Error, Sampling};

/// Images resampled through affine maps and displacement fields. Conventions are those of [`Backend`](crate::Backend).
pub trait Warping: Memory {
    /// Resamples an image by trilinear interpolation: out(x) = image(m(x)), with the map m = `out_to_image`. Where m(x)
    /// is more than half a voxel outside the image, out(x) is `outside`.
    fn resample(
        &self,
        image: &Self::Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Warps an image: out(x) = image(m(x + u(x))), with the field u and `out` on one grid, and the map m =
    /// `grid_to_image`. Where m(x + u(x)) is more than half a voxel outside the image, out(x) is 0.
    fn warp(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Warps two images, each through its own field, like [`warp`](Warping::warp). Both fields and both outputs have
    /// one shape.
    fn warp_both(
        &self,
        images: [&Self::Image; 2],
        fields: [&Self::Field; 2],
        grid_to_image: [&AffineTransform; 2],
        sampling: Sampling,
        out: [&mut Self::Image; 2],
    ) -> Result<(), Error> {
        let [first, second] = out;
        self.warp(images[0], fields[0], grid_to_image[0], sampling, first)?;
        self.warp(images[1], fields[1], grid_to_image[1], sampling, second)
    }

    /// The coefficients of the cubic B-spline through all voxels (Unser, Aldroubi & Eden 1993), for
    /// [`warp_spline`](Warping::warp_spline). The image is mirrored about its outermost voxel centres; along an axis
    /// of one voxel it is constant.
    fn spline_coefficients(&self, image: &Self::Image) -> Result<Self::Image, Error>;

    /// Warps an image like [`warp`](Warping::warp), by the spline with these coefficients: out(x) = spline(m(x +
    /// u(x))), with the field u and the map m = `grid_to_image`. Values may lie outside the image's range. Where m(x +
    /// u(x)) is more than half a voxel outside the image, out(x) is 0.
    fn warp_spline(
        &self,
        coefficients: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Warps an image like [`warp`](Warping::warp), by a Lanczos-windowed sinc of radius 3 with zeros outside the
    /// image. This is the interpolation of [`WindowedSinc`](crate::apply::Interpolation::WindowedSinc).
    fn warp_sinc(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;
}
