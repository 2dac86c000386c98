//! Finds the white matter of a T1-weighted image of a brain.

use antsreg_core::Volume;
use antsreg_kernels::DistanceLimits;
use antsreg_kernels::cpu::signed_distance;
use antsreg_register::Device;
use rayon::prelude::*;

use super::{Error, Histogram, Mixture};
use crate::bias;
use crate::brain::keep_largest;

/// Distance between the voxels from which the shading is estimated, mm.
const BIAS_STEP_MM: f64 = 4.0;
/// Smallest number of brain voxels from which the tissues are classified.
const LEAST_VOXELS: usize = 1000;
/// Smallest contrast of the two brightest classes at which the classification is accepted, in standard deviations.
const LEAST_CONTRAST: f64 = 1.0;
/// Smallest share of the brightest class at which the classification is accepted, 0 to 1.
const LEAST_SHARE: f64 = 0.05;
/// Voxels of the brain at a smaller depth than this count as surface, mm.
const SURFACE_MM: f32 = 4.0;
/// Voxels of the brain at this depth or deeper count as the inside of the brain, mm.
const INSIDE_MM: f32 = 10.0;

/// The white matter of an image.
#[derive(Debug, Clone)]
pub struct WhiteMatter {
    /// Mask of the white matter: 1 in white matter, else 0, on the grid of the image.
    pub mask: Volume,
    /// Volume of the white matter, mL.
    pub volume_ml: f64,
    /// The classes of the intensities in the brain, after the shading was removed.
    pub mixture: Mixture,
}

impl WhiteMatter {
    /// Plausible volumes of the white matter of a whole brain, mL. Adults have 350 to 700 mL.
    pub const PLAUSIBLE_ML: std::ops::RangeInclusive<f64> = 250.0..=900.0;
}

/// Finds the white matter of a T1-weighted image. `brain` is the mask of the brain (above 0.5) on the grid of the image.
///
/// White matter is the largest region, connected through faces, where the image without shading is above
/// [`Mixture::threshold`].
///
/// # Errors
/// A mask of another shape; a brain whose intensities do not have the classes of a T1-weighted image.
pub fn white_matter(image: &Volume, brain: &Volume) -> Result<WhiteMatter, Error> {
    let usable = |(value, mask): (&f32, &f32)| *mask > 0.5 && value.is_finite() && *value > 0.0;
    let inside: Vec<bool> = image.voxels.par_iter().zip(&brain.voxels).map(usable).collect();
    let found = inside.iter().filter(|inside| **inside).count();
    if found < LEAST_VOXELS {
        return Err(Error::FewVoxels { found, least: LEAST_VOXELS });
    }
    let corrected = without_shading(image, brain, &inside)?;
    let values: Vec<f32> = corrected.iter().zip(&inside).filter(|(_, inside)| **inside).map(|(v, _)| *v).collect();
    let none = Error::NoContrast { found: 0.0, least: LEAST_CONTRAST, share: 0.0, least_share: LEAST_SHARE };
    let mixture = Mixture::fit(&Histogram::of(&values).ok_or(none)?);
    let (contrast, share) = (mixture.contrast(), mixture.classes[2].share);
    if contrast < LEAST_CONTRAST || share < LEAST_SHARE {
        return Err(Error::NoContrast { found: contrast, least: LEAST_CONTRAST, share, least_share: LEAST_SHARE });
    }
    let threshold = mixture.threshold() as f32;
    let bright = corrected.par_iter().zip(&inside).map(|(value, inside)| *inside && *value > threshold);
    let mut white: Vec<bool> = bright.collect();
    check_depth(brain, &white)?;
    keep_largest(image.grid.shape, &mut white);
    let count = white.iter().filter(|white| **white).count();
    let voxels = white.into_iter().map(|white| if white { 1.0 } else { 0.0 }).collect();
    let volume_ml = count as f64 * image.grid.spacing.product() / 1000.0;
    Ok(WhiteMatter { mask: Volume { grid: image.grid.clone(), voxels }, volume_ml, mixture })
}

/// The intensities of the image, divided by the bias field that N4 finds from the voxels of `inside`.
fn without_shading(image: &Volume, brain: &Volume, inside: &[bool]) -> Result<Vec<f32>, Error> {
    let voxels = inside.iter().map(|inside| if *inside { 1.0 } else { 0.0 }).collect();
    let mask = Volume { grid: brain.grid.clone(), voxels };
    let shrink = (BIAS_STEP_MM / image.grid.spacing.max()).round().max(1.0) as usize;
    let options = bias::Options { shrink, ..bias::Options::default() };
    // The bias field is always estimated on the CPU: it is estimated from few voxels, so this takes little time.
    let cpu = Device::cpu();
    let field = bias::estimate(image, Some(&mask), None, None, &options, &cpu)?;
    Ok(field.divided(image, &cpu)?.voxels)
}

/// Returns an error if the supposed white matter is not more frequent inside the brain than near its surface.
fn check_depth(brain: &Volume, white: &[bool]) -> Result<(), Error> {
    let set: Vec<bool> = brain.voxels.iter().map(|mask| *mask > 0.5).collect();
    let limits = DistanceLimits { inside_mm: 2.0 * INSIDE_MM, outside_mm: SURFACE_MM };
    let depths = signed_distance(brain.grid.shape, brain.grid.spacing.into(), &set, limits);
    let share = |wanted: &dyn Fn(f32) -> bool| {
        let all = depths.iter().zip(white).filter(|(depth, _)| wanted(**depth));
        let [count, white] = all.fold([0.0, 0.0], |[n, w], (_, white)| [n + 1.0, w + f64::from(u8::from(*white))]);
        white / f64::max(count, 1.0)
    };
    let outside = share(&|depth| depth > 0.0 && depth < SURFACE_MM);
    let inside = share(&|depth| depth >= INSIDE_MM);
    if inside > outside { Ok(()) } else { Err(Error::AtSurface { inside, outside }) }
}
