//! The intensities of an image kept to a range.

use rayon::prelude::*;

use super::image::Image;

/// Values beyond the range become its ends; then (value − origin)·scale.
pub(super) fn clip(image: &mut Image, (low, high): (f32, f32), origin: f32, scale: f32) {
    image.voxels.par_iter_mut().for_each(|value| *value = (value.clamp(low, high) - origin) * scale);
}
