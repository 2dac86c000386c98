//! What was done with a head before its brain was registered, for the record.

use std::path::PathBuf;

use antsreg_heads::brain::{Contrast, Extraction};
use serde::{Deserialize, Serialize};

/// What was done with a head before its brain was registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Volume of its brain, cm³.
    pub brain_cm3: f64,
    /// How its brain was found; `None` if a mask was given.
    pub found: Option<BrainRecord>,
    /// Further images of the same head that were brought along.
    pub carried: Vec<CarriedRecord>,
}

/// How a brain was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrainRecord {
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// The surface of the mask over that of a ball of the same volume.
    pub surface_ratio: f64,
    /// The correlation with the template near the brain.
    pub correlation: f64,
    /// The overlap (Dice) of the mask with the template's brain as registered.
    pub agreement: f64,
}

/// An image that was brought along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// Its file.
    pub path: PathBuf,
    /// Rigid transform of the head's points to the image's, RAS mm, row by row.
    pub rigid_ras: [[f64; 4]; 3],
}

impl From<&Extraction> for BrainRecord {
    fn from(found: &Extraction) -> BrainRecord {
        BrainRecord {
            contrast: found.contrast,
            surface_ratio: found.surface_ratio,
            correlation: found.correlation,
            agreement: found.agreement,
        }
    }
}
