//! Heads and brains told apart, by one image alone.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use serde::{Deserialize, Serialize};

use super::regions::{fill_holes, keep_largest};

/// What an image shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A head with its skull.
    Head,
    /// A brain, with nothing around it.
    Brain,
    /// Neither can be told: a slice, a small part of a head, an object of another size.
    Unclear,
}

/// Spacing at which the image is looked at, mm.
const SPACING_MM: f64 = 4.0;
/// A voxel is part of the object above this share of the range from the darkest to bright voxels.
const OBJECT_SHARE: f32 = 0.1;
/// The quantile of the voxels above the darkest one that is bright.
const BRIGHT: f64 = 0.98;
/// Heads, their inside filled, are larger than this, cm³: scanned heads have 2400 to 4700.
const LEAST_HEAD_CM3: f64 = 2200.0;
/// Volumes of brains, cm³: extracted brains of adults have 1350 to 1900.
const BRAINS_CM3: std::ops::RangeInclusive<f64> = 600.0..=2100.0;
/// The least share of voxels that have exactly the darkest value around a brain: what was removed is constant.
const LEAST_CONSTANT: f64 = 0.25;

/// Tells heads from brains by the volume of the largest object with its inside filled, and by the constant background that is
/// around an extracted brain.
pub fn kind(image: &Volume) -> Kind {
    if image.grid.is_slice() {
        return Kind::Unclear;
    }
    let steps = [0, 1, 2].map(|axis| ((SPACING_MM / image.grid.spacing[axis]).round() as usize).max(1));
    let [nx, ny, _] = image.grid.shape;
    let shape = [0, 1, 2].map(|axis| image.grid.shape[axis].div_ceil(steps[axis]));
    let taken = (0..shape.iter().product::<usize>()).map(|n| {
        let at = [n % shape[0] * steps[0], n / shape[0] % shape[1] * steps[1], n / shape[0] / shape[1] * steps[2]];
        image.voxels[(at[2] * ny + at[1]) * nx + at[0]]
    });
    let voxels: Vec<f32> = taken.collect();
    let darkest = voxels.iter().copied().fold(f32::INFINITY, f32::min);
    let above: Vec<f32> = voxels.iter().copied().filter(|value| *value > darkest).collect();
    let Some((_, bright)) = quantiles(&above, 0.5, BRIGHT) else { return Kind::Unclear };
    let constant = 1.0 - above.len() as f64 / voxels.len() as f64;
    let threshold = darkest + OBJECT_SHARE * (bright - darkest);
    let mut object: Vec<bool> = voxels.iter().map(|value| *value > threshold).collect();
    // A scalp that is closed has the brain inside, though dark bone parts the two.
    fill_holes(shape, &mut object);
    keep_largest(shape, &mut object);
    let voxel_cm3 = image.grid.spacing.product() * steps.iter().product::<usize>() as f64 / 1000.0;
    let cm3 = object.iter().filter(|inside| **inside).count() as f64 * voxel_cm3;
    match cm3 {
        cm3 if cm3 >= LEAST_HEAD_CM3 => Kind::Head,
        cm3 if BRAINS_CM3.contains(&cm3) && constant >= LEAST_CONSTANT => Kind::Brain,
        _ => Kind::Unclear,
    }
}
