//! Clipping and rescaling of intensities, and curves of intensity.

use rayon::prelude::*;

use super::image::Image;
use crate::Error;

/// Clips values to the range low … high, then maps them to (value − origin)·scale.
pub(super) fn clip(image: &mut Image, (low, high): (f32, f32), origin: f32, scale: f32) {
    image.voxels.par_iter_mut().for_each(|value| *value = (value.clamp(low, high) - origin) * scale);
}

/// Maps intensities by a curve, as [`Backend::map_intensities`](crate::Backend::map_intensities) defines it.
pub(super) fn map(image: &mut Image, curve: &[f32]) -> Result<(), Error> {
    let last = Error::check_curve(curve)?;
    image.voxels.par_iter_mut().for_each(|value| {
        let at = value.clamp(0.0, 1.0) * last as f32;
        // NaN becomes the index 0 here, and stays NaN in the interpolation.
        let below = (at as usize).min(last - 1);
        *value = curve[below] + (at - below as f32) * (curve[below + 1] - curve[below]);
    });
    Ok(())
}
