//! Resampling of images through an affine map.

use antsreg_core::AffineTransform;

use super::warp::linear;
use crate::cpu::image::{Image, Sampler};
use crate::cpu::line::Line;

/// Resamples an image by trilinear interpolation: out(x) = image(m(x)), with the map m = `out_to_image`.
pub(in crate::cpu) fn resample(image: &Image, out_to_image: &AffineTransform, outside: f32, out: &mut Image) {
    linear(
        &Sampler::new(image, outside),
        out,
        #[inline(always)]
        |[j, k], first, samples, count| {
            let line = Line::new(out_to_image, j, k);
            for n in 0..count {
                samples.points.set(n, line.at((first + n) as f32));
            }
        },
    );
}
