//! Clipping and rescaling of intensities.

use rayon::prelude::*;

use super::image::Image;

/// Clips values to the range low … high, then maps them to (value − origin)·scale.
pub(super) fn clip(image: &mut Image, (low, high): (f32, f32), origin: f32, scale: f32) {
    image.voxels.par_iter_mut().for_each(|value| *value = (value.clamp(low, high) - origin) * scale);
}
