//! The part of a registration's JSON record about a scanned head whose brain was registered: its brain extraction, and
//! other images of the head.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::brain::BrainRecord;

/// Results for a scanned head, as in the JSON record of its registration: its brain extraction, and other images of the
/// head that were resampled with the scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Volume of the brain, cm³.
    pub brain_cm3: f64,
    /// Results of the brain extraction; `None` if a mask was given or the scan showed a brain alone.
    pub found: Option<BrainRecord>,
    /// Whether the scan showed a brain alone, which was registered as it is.
    #[serde(default)]
    pub without_skull: bool,
    /// Whether the fixed image was made from the template's T1, T2 and PD in the contrast of this scan, instead of the T1.
    #[serde(default)]
    pub template_in_contrast: bool,
    /// Paths and rigid transforms of other images of the same head, which were resampled with the scan.
    pub carried: Vec<CarriedRecord>,
}

/// Path and rigid transform of another image of the same head as a scan. The image was resampled together with the
/// scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// Path of the image.
    pub path: PathBuf,
    /// Rigid transform from points of the scan to points of the other image, RAS mm, row by row.
    pub rigid_ras: [[f64; 4]; 3],
}
