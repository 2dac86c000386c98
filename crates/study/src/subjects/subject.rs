//! A subject of a study: its files.

use std::path::PathBuf;

/// Name of the table column with the image, if no channels are named.
pub(crate) const IMAGE: &str = "image";

/// One subject of a study with the paths of its input files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// Name of the subject; the names of its output files begin with this name.
    pub name: String,
    /// Paths of the subject's images, one image for each channel.
    pub images: Vec<PathBuf>,
    /// Path of the mask of the voxels that are used in registrations.
    pub mask: Option<PathBuf>,
    /// Date of the image, as written in a table; only longitudinal studies use it.
    pub date: Option<String>,
    /// Path of the subject's label map.
    pub labels: Option<PathBuf>,
    /// Paths of masks of lesions in the subject's images.
    pub lesions: Vec<PathBuf>,
}
