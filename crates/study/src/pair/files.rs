//! The files of one registration: inputs and outputs. Transforms and warped images have the names that ANTs gives them.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs;
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::Model;
use antsreg_register::linear::Start;
use serde::{Deserialize, Serialize};

use crate::bias::Corrected;
use crate::skulls::BrainChoice;
use crate::transforms::{TransformFile, read_affine};
use crate::{Error, inputs};

/// End of the default path of an HTML page; the path begins with the prefix of the outputs.
const REPORT: &str = "report.html";

/// The files of one registration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PairFiles {
    /// Path of the fixed image.
    pub fixed: PathBuf,
    /// Path of the moving image.
    pub moving: PathBuf,
    /// Files of all channels except the first, each with a fixed and a moving image.
    pub channels: Vec<ChannelFiles>,
    /// Path of the mask of the fixed image.
    pub fixed_mask: Option<PathBuf>,
    /// Path of the white matter mask of the fixed image, for boundary-based registration. Without a path, white matter
    /// is found in the fixed image.
    pub white_matter: Option<PathBuf>,
    /// Path of the mask of the moving image.
    pub moving_mask: Option<PathBuf>,
    /// Paths of masks of lesions in the fixed image, which together are left out of every comparison.
    pub fixed_lesions: Vec<PathBuf>,
    /// Paths of masks of lesions in the moving image.
    pub moving_lesions: Vec<PathBuf>,
    /// Paths of other images of the same head as the moving image. The registration does not use these images, but its
    /// transforms serve to resample them.
    pub carried: Vec<PathBuf>,
    /// Which images are corrected for shading before they are registered.
    pub bias: Corrected,
    /// Label maps.
    pub labels: Labels,
    /// The initial transform of the registration.
    pub start: StartFile,
    /// Choice of the images (fixed, moving) whose brain is extracted and registered instead of the whole head.
    pub brain: BrainChoice,
    /// Start of the paths of all output files, folder included.
    pub prefix: String,
    /// Which images and warps are written, and in which form.
    pub writing: Writing,
    /// Path of the HTML page of the registration; `None` for no page.
    pub report: Option<PathBuf>,
}

/// Files of a channel other than the first: a fixed and a moving image.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFiles {
    /// Path of the channel's fixed image, which must be aligned with the fixed image of the first channel.
    pub fixed: PathBuf,
    /// Path of the channel's moving image, which must be aligned with the moving image of the first channel.
    pub moving: PathBuf,
}

/// Label maps of the fixed and of the moving image of a registration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// Label map of the fixed image, with which the warped moving labels are compared (overlap).
    pub fixed: Option<PathBuf>,
    /// Label map of the moving image, to be resampled onto the fixed grid.
    pub moving: Option<PathBuf>,
    /// Labels for which the overlap of moving and fixed labels is computed: a file of numbers, or numbers such as
    /// `1,2,5`.
    pub list: Option<String>,
    /// Interpolation of the moving labels.
    pub interpolation: LabelInterpolation,
}

/// The initial transform of a registration, which may be read from a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFile {
    /// The initial transform aligns the centres of mass of the images.
    #[default]
    CentreOfMass,
    /// The initial transform is the identity: the world coordinates in the image headers are used unchanged.
    Headers,
    /// The initial transform is an affine map that is read from a file.
    File(TransformFile),
}

impl StartFile {
    /// The default initial transform of a registration with this transform model.
    pub fn usual(model: Model) -> StartFile {
        match model.usual_start() {
            Start::Headers => StartFile::Headers,
            Start::CentreOfMass | Start::Transform(_) => StartFile::CentreOfMass,
        }
    }

    /// Returns the initial transform; reads it if it is in a file.
    ///
    /// # Errors
    /// A file that cannot be read or holds no affine map.
    pub fn read(&self) -> Result<Start, Error> {
        Ok(match self {
            StartFile::CentreOfMass => Start::CentreOfMass,
            StartFile::Headers => Start::Headers,
            StartFile::File(file) => Start::Transform(read_affine(file)?),
        })
    }
}

impl std::fmt::Display for StartFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartFile::CentreOfMass => write!(f, "centre-of-mass"),
            StartFile::Headers => write!(f, "headers"),
            StartFile::File(file) => write!(f, "{file}"),
        }
    }
}

/// Which images and warps are written, and in which form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Format of images and warps.
    pub format: Format,
    /// Whether the warped images are written.
    pub warped: bool,
    /// Whether the inverse warp and the inversely warped image are written.
    pub inverse: bool,
    /// Whether all transforms from one image to the other are written as one composite file, instead of separate files
    /// for affine and warps.
    #[serde(default)]
    pub composite: bool,
}

impl Default for Writing {
    fn default() -> Writing {
        Writing { format: Format::default(), warped: true, inverse: true, composite: false }
    }
}

/// File format of images and warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// Compressed NIfTI
    #[default]
    #[serde(rename = "nii.gz")]
    #[cfg_attr(feature = "clap", value(name = "nii.gz"))]
    NiiGz,
    /// Uncompressed NIfTI: larger files, written faster
    #[serde(rename = "nii")]
    #[cfg_attr(feature = "clap", value(name = "nii"))]
    Nii,
}

impl Format {
    /// The extension of file names in this format, without the dot in front.
    pub fn extension(self) -> &'static str {
        match self {
            Format::NiiGz => "nii.gz",
            Format::Nii => "nii",
        }
    }
}

/// Paths of the output files of a registration; `None` for a file that is not written.
#[derive(Debug, Clone, PartialEq)]
pub struct Names {
    /// Path of the affine map from points of the fixed image to points of the moving image.
    pub affine: Option<PathBuf>,
    /// Path of the warp: displacements of points of the fixed image, which are added before the affine map is applied.
    pub warp: Option<PathBuf>,
    /// Path of the inverse of the warp.
    pub inverse_warp: Option<PathBuf>,
    /// Path of the file with all transforms, from points of the fixed image to points of the moving image.
    pub composite: Option<PathBuf>,
    /// Path of the file with all transforms, from points of the moving image to points of the fixed image.
    pub inverse_composite: Option<PathBuf>,
    /// Path of the moving image on the fixed grid.
    pub warped: Option<PathBuf>,
    /// Path of the fixed image on the moving grid.
    pub inverse_warped: Option<PathBuf>,
    /// Path of the moving labels on the fixed grid.
    pub labels: Option<PathBuf>,
    /// Path of the table of overlap for each label.
    pub overlap: Option<PathBuf>,
    /// Paths of files that are written in addition to those of the registration.
    pub further: Vec<PathBuf>,
    /// Path of the report page.
    pub report: Option<PathBuf>,
    /// Path of the JSON record.
    pub record: PathBuf,
}

impl Names {
    /// The paths of the output files of a registration, with or without a deformable stage.
    pub fn new(files: &PairFiles, deformable: bool) -> Names {
        let name = |rest: &str| PathBuf::from(format!("{}{rest}", files.prefix));
        let extension = files.writing.format.extension();
        let volume = |rest: &str, wanted: bool| wanted.then(|| name(&format!("{rest}.{extension}")));
        let Writing { warped, inverse, composite, .. } = files.writing;
        let warps = deformable && !composite;
        Names {
            affine: (!composite).then(|| name("0GenericAffine.mat")),
            warp: volume("1Warp", warps),
            inverse_warp: volume("1InverseWarp", warps && inverse),
            composite: composite.then(|| name("Composite.h5")),
            inverse_composite: (composite && inverse).then(|| name("InverseComposite.h5")),
            warped: volume("Warped", warped),
            inverse_warped: volume("InverseWarped", warped && inverse),
            labels: volume("Labels", files.labels.moving.is_some()),
            overlap: files.labels.fixed.is_some().then(|| name("overlap.csv")),
            further: Vec::new(),
            report: files.report.clone(),
            record: name("record.json"),
        }
    }

    /// Paths of all output files of the registration, in the order of writing.
    pub fn all(&self) -> Vec<&Path> {
        let transforms = [&self.affine, &self.warp, &self.inverse_warp, &self.composite, &self.inverse_composite];
        let others = [&self.warped, &self.inverse_warped, &self.labels, &self.overlap];
        let optional = transforms.into_iter().chain(others).flatten().chain(&self.further).chain(&self.report);
        optional.map(PathBuf::as_path).chain([self.record.as_path()]).collect()
    }

    /// Existing files of an earlier run with the same prefix. The current run does not replace these files.
    pub fn left_over(&self, prefix: &str) -> Vec<PathBuf> {
        let volumes = ["1Warp", "1InverseWarp", "Warped", "InverseWarped", "Labels"];
        let names = volumes.iter().flat_map(|name| [format!("{name}.nii.gz"), format!("{name}.nii")]);
        let others = ["0GenericAffine.mat", "Composite.h5", "InverseComposite.h5", "overlap.csv", REPORT];
        let paths = names.chain(others.map(String::from)).map(|name| PathBuf::from(format!("{prefix}{name}")));
        let written = self.all();
        paths.filter(|path| !written.contains(&path.as_path()) && path.exists()).collect()
    }

    /// Checks that all output files can be written, and that no output file is also an input file.
    ///
    /// # Errors
    /// The error for the first output file that fails the check.
    pub fn check(&self, files: &PairFiles) -> Result<(), Error> {
        Ok(outputs::check(self.all(), files.inputs())?)
    }
}

impl PairFiles {
    /// The default path of a registration's HTML page, for a prefix of the output files.
    pub fn usual_report(prefix: &str) -> PathBuf {
        format!("{prefix}{REPORT}").into()
    }

    /// Whether the registration leaves out voxels of any image, by a mask or as a lesion.
    pub fn masked(&self) -> bool {
        let masks = [&self.fixed_mask, &self.moving_mask];
        masks.into_iter().any(Option::is_some)
            || [&self.fixed_lesions, &self.moving_lesions].iter().any(|lesions| !lesions.is_empty())
    }

    /// Paths of all inputs.
    pub fn inputs(&self) -> Vec<&Path> {
        [self.fixed_inputs(), self.moving_inputs()].concat()
    }

    /// Paths of the inputs of the fixed side, including the initial transform and a list of labels.
    pub fn fixed_inputs(&self) -> Vec<&Path> {
        let start = match &self.start {
            StartFile::File(file) => Some(&file.path),
            _ => None,
        };
        let optional = [self.fixed_mask.as_ref(), self.white_matter.as_ref(), self.labels.fixed.as_ref(), start];
        let list = self.labels.list.as_deref().and_then(inputs::label_list_file);
        let images = std::iter::once(&self.fixed).chain(self.channels.iter().map(|files| &files.fixed));
        let given = images.chain(optional.into_iter().flatten()).chain(&self.fixed_lesions);
        given.map(PathBuf::as_path).chain(list).collect()
    }

    /// Paths of all input files of the moving side: images, mask and labels.
    pub fn moving_inputs(&self) -> Vec<&Path> {
        let optional = [self.moving_mask.as_ref(), self.labels.moving.as_ref()];
        let images = std::iter::once(&self.moving).chain(self.channels.iter().map(|files| &files.moving));
        let given = images.chain(&self.carried).chain(optional.into_iter().flatten()).chain(&self.moving_lesions);
        given.map(PathBuf::as_path).collect()
    }
}
