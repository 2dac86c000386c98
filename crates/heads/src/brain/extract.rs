//! Extracts the mask of the brain from an image of a head.

use std::sync::Arc;

use antsreg_core::{AffineTransform, Volume, unit};
use antsreg_register::{Device, Progress};
use rayon::prelude::*;

use super::align::{Aligned, align};
use super::finer::Finer;
use super::refine::{REACH_MM, free_later, refine};
use super::surface::surface_ratio;
use super::window::Window;
use super::{BrainWarning, Contrast, Error, Template};

/// The extracted brain of an image.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// Mask of the brain: 1 in the brain, else 0, on the grid of the image.
    pub mask: Volume,
    /// Probability that a voxel is brain, 0 to 1, on the grid of the image.
    pub probability: Volume,
    /// The contrast of the template that is most similar to the image.
    pub contrast: Contrast,
    /// Maps points of the head to points of the template, RAS mm: the affine part of their registration.
    pub head_to_template: AffineTransform,
    /// Volume of the brain, cm³. If the voxels of the image are larger than those of the template, it is measured, like
    /// the numbers below, on a finer grid.
    pub volume_cm3: f64,
    /// Ratio of the brain's surface to that of a ball with the same volume.
    pub surface_ratio: f64,
    /// Absolute correlation of the image with the template near the brain, after the registration.
    pub correlation: f64,
    /// Dice overlap of the final mask with the brain of the registered template, from which the refinement of the edge
    /// started.
    pub agreement: f64,
    /// Reasons to suspect that the mask of the brain is wrong.
    pub warnings: Vec<BrainWarning>,
}

/// Finds the brain of a head by registration to a template on a device, and by the intensities at its edge. The
/// handle of the device is dropped as soon as the device is no longer needed, while the CPU continues.
///
/// # Errors
/// The image is a slice; it cannot be registered, or the registration is stopped
/// ([`register::Error::Stopped`](antsreg_register::Error::Stopped)); or the image contains no brain.
pub fn extract(
    head: &Arc<Volume>,
    template: &Template,
    device: Device,
    progress: &mut dyn Progress,
) -> Result<Extraction, Error> {
    if head.grid.is_slice() {
        return Err(Error::Slice(head.grid.shape));
    }
    check_size(head, template)?;
    let Some(finer) = Finer::than(&head.grid, &template.head().grid) else {
        return extract_from(head, template, device, progress);
    };
    let found = extract_from(&Arc::new(finer.copy(head)?), template, device, progress)?;
    let at_voxels = |refined: &Volume| finer.at_voxels(refined, &head.grid);
    Ok(Extraction { mask: at_voxels(&found.mask), probability: at_voxels(&found.probability), ..found })
}

/// The least ratio between the extents of the object in an image and of the template's head at which the image is refused.
/// The extents of human heads and brains are 38 to 53 mm ([`Unit`](antsreg_core::Unit)), and that of noise in a field of
/// view of 440 mm is less than 130 mm. So a larger ratio means that the voxel sizes are wrong.
const LARGE: f64 = 4.0;

/// Checks that the object in an image is not much larger than the head of the template. Otherwise it is not a head, and a
/// finer copy of the image could take any amount of memory.
fn check_size(head: &Volume, template: &Template) -> Result<(), Error> {
    let extent_mm = |image: &Volume| {
        let nothing = image.range().map_or(0.0, |(darkest, _)| darkest);
        unit::extent_mm(&image.grid, &image.voxels, nothing)
    };
    let (found_mm, expected_mm) = (extent_mm(head), extent_mm(template.head()));
    let too_large = expected_mm > 0.0 && found_mm >= LARGE * expected_mm;
    if too_large { Err(Error::TooLarge { found_mm, expected_mm }) } else { Ok(()) }
}

/// Finds the brain of a head on its own grid.
fn extract_from(
    head: &Arc<Volume>,
    template: &Template,
    device: Device,
    progress: &mut dyn Progress,
) -> Result<Extraction, Error> {
    let Aligned { contrast, window, image, distance_mm, affine, correlation, held } =
        align(head, template, &device, progress)?;
    let head_to_template = affine.inverse().ok_or(Error::Nowhere)?;
    let before: Vec<bool> = distance_mm.par_iter().map(|mm| *mm > 0.0).collect();
    let near = Window::around_set(&image.grid, &before, REACH_MM).ok_or(Error::Nowhere)?;
    let larger = (image, before, distance_mm);
    let (window, image, before) = (window.inner(&near), near.cut(&larger.0), near.cut_voxels(&larger.1));
    let distance_mm = near.cut_voxels(&larger.2);
    free_later(larger);
    let (inside, probability) = refine(&image, distance_mm, correlation, device)?;
    let count = |set: &[bool]| set.par_iter().filter(|inside| **inside).count();
    let both = before.par_iter().zip(&inside).filter(|(a, b)| **a && **b).count();
    let voxels = count(&inside);
    let agreement = 2.0 * both as f64 / (count(&before) + voxels) as f64;
    let volume_cm3 = voxels as f64 * image.grid.spacing.product() / 1000.0;
    let surface_ratio = surface_ratio(&image.grid, &inside);
    let is_brain = |inside: &bool| if *inside { 1.0 } else { 0.0 };
    let (mask, whole_probability) = rayon::join(
        || window.paste(&inside, &head.grid, is_brain),
        || window.paste(&probability, &head.grid, |share| *share),
    );
    free_later((image, before, inside, probability));
    Ok(Extraction {
        mask,
        probability: whole_probability,
        contrast,
        head_to_template,
        volume_cm3,
        surface_ratio,
        correlation,
        agreement,
        warnings: BrainWarning::all(volume_cm3, surface_ratio, correlation, agreement, held),
    })
}

/// Sets an image to 0 where a mask on its grid is at most 0.5.
pub fn without_skull(image: &Volume, mask: &Volume) -> Volume {
    let voxels = image.voxels.par_iter().zip(&mask.voxels);
    let voxels = voxels.map(|(value, mask)| value_without_skull(*value, *mask)).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// The value of a voxel of an image without its skull, from the value of the image and that of the mask.
pub fn value_without_skull(value: f32, mask: f32) -> f32 {
    if mask > 0.5 { value } else { 0.0 }
}
