//! Warnings about the mask of a brain.

use std::fmt::{Display, Formatter};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A reason to suspect that the mask of a brain is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Doubt {
    /// The volume is unusual for an adult brain.
    Volume {
        /// Volume of the mask, cm³.
        cm3: f64,
    },
    /// The surface is too large for the volume: the mask has leaks or holes.
    Surface {
        /// Ratio of the surface to that of a ball with the same volume.
        ratio: f64,
    },
    /// The image differs much from the template.
    Unlike {
        /// Absolute correlation with the template after registration.
        correlation: f64,
    },
    /// The edge found from the intensities is far from that of the registration.
    Disagreement {
        /// Overlap (Dice) of the two masks.
        dice: f64,
    },
    /// Part of the template's brain lies outside the image.
    CutOff {
        /// Share of the template's brain inside the image.
        share: f64,
    },
}

impl Doubt {
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

    /// The warnings that follow from these figures. `inside` is the share of the template's brain inside the image.
    pub(super) fn all(cm3: f64, surface: f64, correlation: f64, agreement: f64, inside: f64) -> Vec<Doubt> {
        // The volume of the mask lacks the part of the brain outside the image, so it is scaled.
        let whole_cm3 = cm3 / inside.max(1e-3);
        let raised = [
            (!Self::VOLUMES_CM3.contains(&whole_cm3)).then_some(Doubt::Volume { cm3 }),
            (surface > Self::MOST_SURFACE).then_some(Doubt::Surface { ratio: surface }),
            (correlation < Self::LEAST_CORRELATION).then_some(Doubt::Unlike { correlation }),
            (agreement < Self::LEAST_AGREEMENT).then_some(Doubt::Disagreement { dice: agreement }),
            (inside < Self::LEAST_INSIDE).then_some(Doubt::CutOff { share: inside }),
        ];
        raised.into_iter().flatten().collect()
    }
}

impl Display for Doubt {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Doubt::Volume { cm3 } => {
                let [least, most] = [Self::VOLUMES_CM3.start(), Self::VOLUMES_CM3.end()];
                write!(f, "the brain found has {cm3:.0} cm³, expected from {least:.0} to {most:.0}; look at the mask")
            }
            Doubt::Surface { ratio } => write!(
                f,
                "the brain found has {ratio:.2} times the surface of a ball of its volume, expected {:.1} at most; look at \
                 the mask",
                Self::MOST_SURFACE
            ),
            Doubt::Unlike { correlation } => write!(
                f,
                "the image is little like the head of the template (correlation {correlation:.2}, expected {:.2} at \
                 least); is it a head? Look at the mask",
                Self::LEAST_CORRELATION
            ),
            Doubt::Disagreement { dice } => write!(
                f,
                "the edge of the brain by intensities is far from that of the registration (Dice {dice:.2}, expected {:.2} \
                 at least); look at the mask",
                Self::LEAST_AGREEMENT
            ),
            Doubt::CutOff { share } => {
                write!(
                    f,
                    "the image holds {:.0} % of the brain only; the mask ends where the image does",
                    share * 100.0
                )
            }
        }
    }
}
