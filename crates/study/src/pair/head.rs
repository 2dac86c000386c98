//! The record of a head whose brain was registered: its brain extraction and its further images.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::brain::BrainRecord;

/// The record of a head: its brain extraction and its further images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Volume of the brain, cm³.
    pub brain_cm3: f64,
    /// The record of the brain extraction; `None` if a mask was given or the scan showed a brain alone.
    pub found: Option<BrainRecord>,
    /// Whether the scan showed a brain alone, which was registered as it is.
    #[serde(default)]
    pub without_skull: bool,
    /// Further images of the head, resampled with the scan.
    pub carried: Vec<CarriedRecord>,
}

/// The record of a further image of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// Path of the image.
    pub path: PathBuf,
    /// Rigid transform from points of the head to points of the image, RAS mm, row by row.
    pub rigid_ras: [[f64; 4]; 3],
}
