//! What was done with a head before its brain was registered, for the record.

use std::path::PathBuf;

use antsreg_heads::brain::{Contrast, Extraction};
use serde::{Deserialize, Serialize};

/// The record of a head: its brain extraction and its further images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Volume of the brain, cm³.
    pub brain_cm3: f64,
    /// The record of the brain extraction; `None` if a mask was given.
    pub found: Option<BrainRecord>,
    /// Further images of the head, resampled with the scan.
    pub carried: Vec<CarriedRecord>,
}

/// The record of a brain extraction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrainRecord {
    /// The contrast of the template whose intensities are most similar to those of the image.
    pub contrast: Contrast,
    /// The surface of the mask divided by the surface of a ball of the same volume.
    pub surface_ratio: f64,
    /// The correlation of the image with the template near the brain.
    pub correlation: f64,
    /// The overlap (Dice) of the mask with the template's brain as registered.
    pub agreement: f64,
}

/// The record of a further image of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// Path of the image.
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
