//! Warnings about the mask of an extracted brain.

use std::fmt::{Display, Formatter};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Warning: a reason to suspect that the mask of an extracted brain is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BrainWarning {
    /// The volume of the mask is unusual for an adult brain.
    Volume {
        /// Volume of the mask, cm³.
        cm3: f64,
    },
    /// The surface of the mask is too large for its volume: the mask has leaks or holes.
    Surface {
        /// Ratio of the mask's surface to the surface of a ball with the same volume.
        ratio: f64,
    },
    /// The registered image differs much from the template.
    Unlike {
        /// Absolute correlation of the image with the template after registration.
        correlation: f64,
    },
    /// The brain's edge found from the intensities is far from the edge of the registered template's brain.
    Disagreement {
        /// Dice overlap of the mask and the registered template's brain.
        dice: f64,
    },
    /// Part of the template's brain lies outside the image.
    CutOff {
        /// Share of the template's brain inside the image.
        share: f64,
    },
}

impl BrainWarning {
    /// Usual volumes of adult brains with the surrounding fluid, cm³.
    pub const VOLUMES_CM3: RangeInclusive<f64> = 800.0..=2300.0;
    /// Largest usual ratio of the surface of a smooth brain mask to that of a ball with the same volume.
    pub const MOST_SURFACE: f64 = 2.0;
    /// Smallest usual correlation of a head with the template after registration.
    pub const LEAST_CORRELATION: f64 = 0.3;
    /// Smallest usual overlap (Dice) of the refined mask with the registered mask of the template.
    pub const LEAST_AGREEMENT: f64 = 0.9;
    /// Smallest share of the template's brain inside an image of a whole brain.
    pub const LEAST_INSIDE: f64 = 0.97;

    /// Returns the warnings about a mask with this volume, surface ratio, correlation and Dice overlap. `inside` is the
    /// share of the template's brain that lies inside the image.
    pub(super) fn all(cm3: f64, surface: f64, correlation: f64, agreement: f64, inside: f64) -> Vec<BrainWarning> {
        // The mask lacks the part of the brain outside the image. So the volume of the mask is divided by the share of
        // the brain that lies inside the image.
        let whole_cm3 = cm3 / inside.max(1e-3);
        let raised = [
            (!Self::VOLUMES_CM3.contains(&whole_cm3)).then_some(BrainWarning::Volume { cm3 }),
            (surface > Self::MOST_SURFACE).then_some(BrainWarning::Surface { ratio: surface }),
            (correlation < Self::LEAST_CORRELATION).then_some(BrainWarning::Unlike { correlation }),
            (agreement < Self::LEAST_AGREEMENT).then_some(BrainWarning::Disagreement { dice: agreement }),
            (inside < Self::LEAST_INSIDE).then_some(BrainWarning::CutOff { share: inside }),
        ];
        raised.into_iter().flatten().collect()
    }
}

impl Display for BrainWarning {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            BrainWarning::Volume { cm3 } => {
                let [least, most] = [Self::VOLUMES_CM3.start(), Self::VOLUMES_CM3.end()];
                write!(
                    f,
                    "the extracted brain has {cm3:.0} cm³, expected {least:.0} to {most:.0} cm³; look at the mask"
                )
            }
            BrainWarning::Surface { ratio } => write!(
                f,
                "the surface of the extracted brain is {ratio:.2} times that of a ball with the same volume, expected at \
                 most {:.1}; look at the mask",
                Self::MOST_SURFACE
            ),
            BrainWarning::Unlike { correlation } => write!(
                f,
                "the image differs much from the template's head (correlation {correlation:.2}, expected at least {:.2}); \
                 check that the image shows a head, and look at the mask",
                Self::LEAST_CORRELATION
            ),
            BrainWarning::Disagreement { dice } => write!(
                f,
                "the brain's edge found from the intensities is far from the edge of the registered template's brain \
                 (Dice {dice:.2}, expected at least {:.2}); look at the mask",
                Self::LEAST_AGREEMENT
            ),
            BrainWarning::CutOff { share } => {
                write!(
                    f,
                    "the image contains only {:.0} % of the brain; the mask ends at the border of the image",
                    share * 100.0
                )
            }
        }
    }
}
