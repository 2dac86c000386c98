//! Output files of the correction of distortion.

use std::path::{Path, PathBuf};

/// Paths of the output files. Those of images are in the order of the images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Images without distortion.
    pub undistorted: Vec<PathBuf>,
    /// Warps from points of the undistorted images to points of the distorted ones.
    pub warps: Vec<PathBuf>,
    /// Factors of the intensity by the change of volume.
    pub jacobians: Vec<PathBuf>,
    /// Displacement along the phase encoding axis, mm.
    pub displacement: PathBuf,
    /// The field in Hz; it is written where the readout time is known.
    pub field: PathBuf,
    /// The record (JSON).
    pub record: PathBuf,
}

impl Names {
    /// Paths that all begin with `prefix`, folder included, for `count` images.
    pub fn of(prefix: &str, count: usize) -> Names {
        let name = |end: &str| PathBuf::from(format!("{prefix}{end}"));
        let each = |start: &str, end: &str| (1..=count).map(|n| name(&format!("{start}{n}{end}.nii.gz"))).collect();
        Names {
            undistorted: each("Undistorted", ""),
            warps: each("", "Warp"),
            jacobians: each("", "Jacobian"),
            displacement: name("Displacement.nii.gz"),
            field: name("FieldHz.nii.gz"),
            record: name("record.json"),
        }
    }

    /// All paths.
    pub fn files(&self) -> Vec<&Path> {
        let Names { undistorted, warps, jacobians, displacement, field, record } = self;
        let images = undistorted.iter().chain(warps).chain(jacobians);
        images.chain([displacement, field, record]).map(PathBuf::as_path).collect()
    }
}
