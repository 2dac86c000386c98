//! From an image of a head to the mask of its brain.

use std::sync::Arc;

use antsreg_core::{AffineTransform, Volume};
use antsreg_register::{Device, Progress};
use nalgebra::Point3;

use super::align::{Aligned, align};
use super::refine::refine;
use super::surface::surface_ratio;
use super::{Contrast, Doubt, Error, Template};

/// The brain of an image.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// 1 in the brain, else 0, on the grid of the image.
    pub mask: Volume,
    /// How probable it is that a voxel is brain, 0 to 1, on the grid of the image.
    pub probability: Volume,
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// Maps points of the head to points of the template, RAS mm: the affine part of their registration.
    pub head_to_template: AffineTransform,
    /// Volume of the mask, cm³.
    pub volume_cm3: f64,
    /// The surface of the mask over that of a ball of the same volume.
    pub surface_ratio: f64,
    /// The correlation with the template near the brain after the registration, without a sign.
    pub correlation: f64,
    /// The overlap (Dice) of the mask with the template's brain as registered: how little the intensities changed.
    pub agreement: f64,
    /// Doubts about the mask.
    pub doubts: Vec<Doubt>,
}

/// Finds the brain of a head by registration to a template on a device, and by the intensities at its edge.
///
/// # Errors
/// A slice; an image that cannot be registered, [`register::Error::Stopped`](antsreg_register::Error::Stopped) included; an
/// image without a brain.
pub fn extract(
    head: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Extraction, Error> {
    if head.grid.is_slice() {
        return Err(Error::Slice(head.grid.shape));
    }
    let Aligned { contrast, window, prior, affine, correlation } = align(head, template, device, progress)?;
    let head_to_template = affine.inverse().ok_or(Error::Nowhere)?;
    let before: Vec<bool> = prior.voxels.iter().map(|share| *share > 0.5).collect();
    if !before.contains(&true) {
        return Err(Error::Nowhere);
    }
    let (inside, probability) = refine(&window.cut(head), &before, correlation)?;
    let count = |set: &[bool]| set.iter().filter(|inside| **inside).count();
    let both = before.iter().zip(&inside).filter(|(a, b)| **a && **b).count();
    let agreement = 2.0 * both as f64 / (count(&before) + count(&inside)) as f64;
    let volume_cm3 = count(&inside) as f64 * head.grid.spacing.product() / 1000.0;
    let surface_ratio = surface_ratio(&prior.grid, &inside);
    let held = share_inside(template, head, &affine);
    let mask: Vec<f32> = inside.iter().map(|inside| if *inside { 1.0 } else { 0.0 }).collect();
    Ok(Extraction {
        mask: window.paste(&mask, &head.grid),
        probability: window.paste(&probability, &head.grid),
        contrast,
        head_to_template,
        volume_cm3,
        surface_ratio,
        correlation,
        agreement,
        doubts: Doubt::all(volume_cm3, surface_ratio, correlation, agreement, held),
    })
}

/// The share of the template's brain that lies in an image under an affine of the template's points to those of the image.
fn share_inside(template: &Template, image: &Volume, affine: &AffineTransform) -> f64 {
    let brain = template.brain();
    let [nx, ny, _] = brain.grid.shape;
    let index = image.grid.world_to_voxel().after(affine).after(&brain.grid.voxel_to_world());
    let (mut all, mut held) = (0_usize, 0_usize);
    for (n, _) in brain.voxels.iter().enumerate().filter(|(_, share)| **share > 0.5) {
        let voxel = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        all += 1;
        held += usize::from(image.grid.holds(&index.apply(&voxel)));
    }
    held as f64 / all.max(1) as f64
}

/// An image that is 0 where a mask on its grid is not above 0.5.
pub fn without_skull(image: &Volume, mask: &Volume) -> Volume {
    let voxels = image.voxels.iter().zip(&mask.voxels);
    let voxels = voxels.map(|(value, mask)| if *mask > 0.5 { *value } else { 0.0 }).collect();
    Volume { grid: image.grid.clone(), voxels }
}
