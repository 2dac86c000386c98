//! Distinguishes images of heads from images of extracted brains.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use serde::{Deserialize, Serialize};

use antsreg_images::regions::{fill_holes, keep_largest};

/// Content of an image: head, brain or unclear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A head with its skull.
    Head,
    /// An extracted brain, without skull and other tissue.
    Brain,
    /// Neither a head nor an extracted brain for certain: a slice, a small part of a head, or an object of another
    /// size.
    Unclear,
}

/// Distance between the voxels that are read to decide whether an image shows a head or an extracted brain, mm.
const SPACING_MM: f64 = 4.0;
/// Voxels brighter than this belong to the imaged object (head or brain). The number is a share of the range from the
/// darkest to the bright intensity of the image.
const OBJECT_SHARE: f32 = 0.1;
/// The intensity at this quantile counts as the bright intensity of the image. The quantile is computed over the voxels
/// above the darkest intensity.
const BRIGHT: f64 = 0.98;
/// Smallest volume of a head with its inside filled, cm³. Scanned heads have 2400 to 4700 cm³.
const LEAST_HEAD_CM3: f64 = 2200.0;
/// Volumes of brains, cm³. Extracted brains of adults have 1350 to 1900 cm³.
const BRAINS_CM3: std::ops::RangeInclusive<f64> = 600.0..=2100.0;
/// Smallest share of voxels with exactly the darkest value in an image of an extracted brain: removed voxels have a
/// constant value.
const LEAST_CONSTANT: f64 = 0.25;
/// Distance from the object up to which voxels must have been removed around an extracted brain, mm.
const AROUND_MM: f64 = 8.0;
/// Smallest share of removed voxels around an extracted brain. In images of heads, scalp that is darker than the object's
/// threshold, and noise, lie there. Around brains the share is 0.79 to 1, around heads from the scanner up to 0.6, unless
/// the scanner sets air to a constant.
const LEAST_REMOVED: f64 = 0.7;

/// Makes the mask of an image of an extracted brain, on the grid of the image. The mask is 1 at voxels above the
/// darkest value, which marks removed voxels, and in enclosed holes. Only the largest connected part is kept.
pub fn mask_of_brain(image: &Volume) -> Volume {
    let shape = image.grid.shape;
    let darkest = image.voxels.iter().copied().fold(f32::INFINITY, f32::min);
    let mut inside: Vec<bool> = image.voxels.iter().map(|value| *value > darkest).collect();
    keep_largest(shape, &mut inside);
    fill_holes(shape, &mut inside);
    let voxels = inside.into_iter().map(|inside| if inside { 1.0 } else { 0.0 }).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// Distinguishes heads from extracted brains by the volume of the largest object with its inside filled, and by the
/// constant background around an extracted brain.
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
    // Filling a closed scalp includes the brain, although dark bone separates the brain from the scalp.
    fill_holes(shape, &mut object);
    keep_largest(shape, &mut object);
    let voxel_cm3 = image.grid.spacing.product() * steps.iter().product::<usize>() as f64 / 1000.0;
    let cm3 = object.iter().filter(|inside| **inside).count() as f64 * voxel_cm3;
    let stands_alone = || {
        let spacing: [f64; 3] = std::array::from_fn(|axis| image.grid.spacing[axis] * steps[axis] as f64);
        let reach = spacing.map(|mm| ((AROUND_MM / mm).round() as usize).max(1));
        removed_around(shape, &object, reach, |n| voxels[n] == darkest) >= LEAST_REMOVED
    };
    match cm3 {
        cm3 if cm3 >= LEAST_HEAD_CM3 => Kind::Head,
        cm3 if BRAINS_CM3.contains(&cm3) && constant >= LEAST_CONSTANT && stands_alone() => Kind::Brain,
        _ => Kind::Unclear,
    }
}

/// The share of removed voxels among the voxels around an object: those outside the object for which a voxel of the object
/// lies at most `reach` voxels away along each axis. 0 if there are none.
fn removed_around(shape: [usize; 3], object: &[bool], reach: [usize; 3], is_removed: impl Fn(usize) -> bool) -> f64 {
    let strides = [1, shape[0], shape[0] * shape[1]];
    let mut near = object.to_vec();
    for axis in 0..3 {
        let before = near.clone();
        for (n, near) in near.iter_mut().enumerate() {
            let at = n / strides[axis] % shape[axis];
            let first = n - at.min(reach[axis]) * strides[axis];
            let count = at.min(reach[axis]) + reach[axis].min(shape[axis] - 1 - at);
            *near = (0..=count).any(|step| before[first + step * strides[axis]]);
        }
    }
    let around = || near.iter().zip(object).enumerate().filter(|(_, (near, inside))| **near && !**inside);
    let removed = around().filter(|(n, _)| is_removed(*n)).count();
    removed as f64 / around().count().max(1) as f64
}
