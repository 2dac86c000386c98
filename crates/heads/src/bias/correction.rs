//! Correction of an image by its bias field, rescaling of the result, and a default mask.

use antsreg_core::Volume;
use antsreg_register::Device;
use rayon::prelude::*;

use super::{BiasField, Error};

/// Divides an image by its bias field. With a mask, only the voxels where the mask is above 0 change.
///
/// # Errors
/// A device that fails.
pub fn correct(image: &Volume, field: &BiasField, mask: Option<&Volume>, device: &Device) -> Result<Volume, Error> {
    let mut corrected = field.divided(image, device)?;
    if let Some(mask) = mask {
        let voxels = corrected.voxels.iter_mut().zip(&image.voxels).zip(&mask.voxels);
        voxels.filter(|(_, mask)| **mask <= 0.0).for_each(|((voxel, original), _)| *voxel = *original);
    }
    Ok(corrected)
}

/// Rescales the corrected image linearly: its smallest and largest intensities inside a mask (above 0) become those of
/// the original image. Voxels outside the mask do not change.
pub fn rescale_as(original: &Volume, mask: &Volume, corrected: &mut Volume) {
    let range = |volume: &Volume| {
        let inside = volume.voxels.iter().zip(&mask.voxels).filter(|(_, mask)| **mask > 0.0);
        inside.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), (v, _)| (low.min(*v), high.max(*v)))
    };
    let ((low, high), (from, to)) = (range(original), range(corrected));
    if from < to {
        let slope = (high - low) / (to - from);
        let inside = corrected.voxels.iter_mut().zip(&mask.voxels).filter(|(_, mask)| **mask > 0.0);
        inside.for_each(|(voxel, _)| *voxel = high - slope * (to - *voxel));
    }
}

/// Makes a mask of the voxels with positive intensities. Only these intensities have a logarithm.
pub fn foreground(image: &Volume) -> Volume {
    let voxels = image.voxels.par_iter().map(|value| if *value > 0.0 { 1.0 } else { 0.0 }).collect();
    Volume { grid: image.grid.clone(), voxels }
}
