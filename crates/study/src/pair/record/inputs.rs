//! The inputs of a registration in its record.

use std::path::{Path, PathBuf};

use antsreg_core::Grid;
use antsreg_register::Side;
use serde::{Deserialize, Serialize};

use crate::{geometry, inputs};

/// The input files that were read, with the grids of the images.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputsRecord {
    /// The fixed image.
    pub fixed: ImageRecord,
    /// The moving image.
    pub moving: ImageRecord,
    /// Fixed and moving image of each channel except the first.
    pub channels: Vec<[ImageRecord; 2]>,
    /// Mask of the fixed image.
    pub fixed_mask: Option<PathBuf>,
    /// White matter mask of the fixed image, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_matter: Option<PathBuf>,
    /// Mask of the moving image.
    pub moving_mask: Option<PathBuf>,
    /// Lesions of the fixed image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_lesion: Option<LesionRecord>,
    /// Lesions of the moving image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving_lesion: Option<LesionRecord>,
    /// Labels of the fixed image.
    pub fixed_labels: Option<PathBuf>,
    /// Labels of the moving image.
    pub moving_labels: Option<PathBuf>,
}

impl InputsRecord {
    /// Volume of the lesions of both images, cm³; `None` without a lesion.
    pub fn lesions_cm3(&self) -> Option<f64> {
        let volumes = [&self.fixed_lesion, &self.moving_lesion].into_iter().flatten().map(|lesion| lesion.volume_cm3);
        volumes.reduce(|all, volume| all + volume)
    }
}

/// Lesions of an image: tissue that no stage compares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LesionRecord {
    /// The masks.
    pub paths: Vec<PathBuf>,
    /// Volume of the voxels in any of the masks, cm³.
    pub volume_cm3: f64,
}

impl LesionRecord {
    /// Describes the lesions of a side (fixed or moving) with its masks; `None` without a lesion.
    pub fn of(paths: &[PathBuf], side: &Side) -> Option<LesionRecord> {
        let lesion = side.lesion.as_ref()?;
        Some(LesionRecord { paths: paths.to_vec(), volume_cm3: inputs::mask_cm3(lesion) })
    }
}

/// An image as the JSON record of a registration describes it: path and grid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImageRecord {
    /// The file.
    pub path: PathBuf,
    /// Number of voxels along each axis of the image.
    pub shape: [usize; 3],
    /// Distance between voxel centres, mm.
    pub spacing_mm: [f64; 3],
    /// Directions of the voxel axes as letters, such as RAS.
    pub orientation: String,
}

impl ImageRecord {
    /// Describes the image in the file `path` for a JSON record: path, shape, voxel size and orientation.
    pub fn new(path: &Path, grid: &Grid) -> ImageRecord {
        ImageRecord {
            path: path.into(),
            shape: grid.shape,
            spacing_mm: grid.spacing.into(),
            orientation: geometry::orientation(grid),
        }
    }
}
