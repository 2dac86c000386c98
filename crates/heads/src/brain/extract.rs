//! From an image of a head to the mask of its brain.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_register::{Device, Progress};
use serde::{Deserialize, Serialize};

use super::align::{Aligned, align};
use super::refine::refine;
use super::{Contrast, Error, Template};

/// The brain of an image.
#[derive(Debug)]
pub struct Brain {
    /// 1 in the brain, on the grid of the image.
    pub mask: Volume,
    /// How probable it is that a voxel is brain, 0 to 1.
    pub probability: Volume,
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// Volume of the mask, cm³.
    pub volume_cm3: f64,
    /// The correlation with the template near the brain after the registration, without a sign.
    pub correlation: f64,
    /// The overlap (Dice) of the mask with the template's brain as registered: how little the intensities changed.
    pub agreement: f64,
    /// Doubts about the mask.
    pub doubts: Vec<Doubt>,
}

/// A doubt about the mask of a brain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Doubt {
    /// A volume that adults' brains hardly have.
    Volume {
        /// cm³.
        cm3: f64,
    },
    /// An image that is little like the template.
    Unlike {
        /// The correlation, without a sign.
        correlation: f64,
    },
    /// An edge by intensities far from the one of the registration.
    Disagreement {
        /// Overlap of the two masks (Dice).
        dice: f64,
    },
}

/// Volumes of adults' brains with the fluid around them, cm³.
const VOLUMES_CM3: std::ops::RangeInclusive<f64> = 800.0..=2300.0;
/// The correlation that heads have with the template after a registration, at least.
const LEAST_CORRELATION: f64 = 0.25;
/// The overlap that a mask has with the template's as registered, at least.
const LEAST_AGREEMENT: f64 = 0.9;

impl Display for Doubt {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Doubt::Volume { cm3 } => {
                let [least, most] = [VOLUMES_CM3.start(), VOLUMES_CM3.end()];
                write!(f, "the brain has {cm3:.0} cm³, expected from {least:.0} to {most:.0}; look at the mask")
            }
            Doubt::Unlike { correlation } => write!(
                f,
                "the head is little like the template (correlation {correlation:.2}, expected {LEAST_CORRELATION} at \
                 least); look at the mask"
            ),
            Doubt::Disagreement { dice } => write!(
                f,
                "the edge of the brain by intensities is far from that of the registration (Dice {dice:.2}, expected \
                 {LEAST_AGREEMENT} at least); look at the mask"
            ),
        }
    }
}

/// Finds the brain of a head by registration to a template on a device, and by the intensities at its edge.
///
/// # Errors
/// A slice; an image that cannot be registered, [`register::Error::Stopped`](antsreg_register::Error::Stopped) included; an
/// image without a brain.
pub fn extract(
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Brain, Error> {
    if image.grid.is_slice() {
        return Err(Error::Slice(image.grid.shape));
    }
    let Aligned { contrast, prior, correlation } = align(image, template, device, progress)?;
    let before: Vec<bool> = prior.voxels.iter().map(|share| *share > 0.5).collect();
    if !before.contains(&true) {
        return Err(Error::Nowhere);
    }
    let (inside, probability) = refine(image, &before)?;
    let count = |set: &[bool]| set.iter().filter(|inside| **inside).count();
    let both = before.iter().zip(&inside).filter(|(a, b)| **a && **b).count();
    let agreement = 2.0 * both as f64 / (count(&before) + count(&inside)) as f64;
    let volume_cm3 = count(&inside) as f64 * image.grid.spacing.product() / 1000.0;
    let doubts = [
        (!VOLUMES_CM3.contains(&volume_cm3)).then_some(Doubt::Volume { cm3: volume_cm3 }),
        (correlation < LEAST_CORRELATION).then_some(Doubt::Unlike { correlation }),
        (agreement < LEAST_AGREEMENT).then_some(Doubt::Disagreement { dice: agreement }),
    ];
    let volume = |voxels| Volume { grid: image.grid.clone(), voxels };
    Ok(Brain {
        mask: volume(inside.iter().map(|inside| if *inside { 1.0 } else { 0.0 }).collect()),
        probability: volume(probability),
        contrast,
        volume_cm3,
        correlation,
        agreement,
        doubts: doubts.into_iter().flatten().collect(),
    })
}
