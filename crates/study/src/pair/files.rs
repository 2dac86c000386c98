//! The files of one registration: read and written, under ANTs' names.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs;
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::Model;
use antsreg_register::linear::Start;
use serde::{Deserialize, Serialize};

use super::skulls::BrainChoice;
use crate::bias::Corrected;
use crate::transforms::{TransformFile, read_affine};
use crate::{Error, inputs};

/// What the name of a page is after the prefix, unless another is given.
const REPORT: &str = "report.html";

/// The files of one registration.
#[derive(Debug, Clone, PartialEq)]
pub struct PairFiles {
    /// The image that stays.
    pub fixed: PathBuf,
    /// The image that is brought to it.
    pub moving: PathBuf,
    /// Further channels of both sides.
    pub channels: Vec<ChannelFiles>,
    /// Fixed voxels that count.
    pub fixed_mask: Option<PathBuf>,
    /// White matter of the fixed image, for boundary-based registration.
    pub white_matter: Option<PathBuf>,
    /// Moving voxels that count.
    pub moving_mask: Option<PathBuf>,
    /// Further images of the moving side that take no part in the registration and are brought along.
    pub carried: Vec<PathBuf>,
    /// Which images are corrected for shading before they are registered.
    pub bias: Corrected,
    /// Label maps.
    pub labels: Labels,
    /// Where the registration starts.
    pub start: StartFile,
    /// Of which sides the brain is extracted and registered.
    pub brain: BrainChoice,
    /// Start of all output names, folder included.
    pub prefix: String,
    /// Which images and warps are written, and how.
    pub writing: Writing,
    /// The page to judge the result by, if one is wanted.
    pub report: Option<PathBuf>,
}

/// A further channel of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFiles {
    /// Image aligned with the fixed one.
    pub fixed: PathBuf,
    /// Image aligned with the moving one.
    pub moving: PathBuf,
}

/// Label maps that go along with a registration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// Label map of the fixed image, against which the warped labels are scored.
    pub fixed: Option<PathBuf>,
    /// Label map of the moving image, to be resampled onto the fixed grid.
    pub moving: Option<PathBuf>,
    /// Labels that count in the overlap: a file of numbers, or numbers such as `1,2,5`.
    pub list: Option<String>,
    /// How the moving labels are resampled.
    pub interpolation: LabelInterpolation,
}

/// Where a registration starts, by a file if one was given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFile {
    /// Centres of mass on each other.
    #[default]
    CentreOfMass,
    /// World coordinates as the headers say.
    Headers,
    /// An affine in a file.
    File(TransformFile),
}

impl StartFile {
    /// The start of a registration that is not told one.
    pub fn usual(model: Model) -> StartFile {
        match model.usual_start() {
            Start::Headers => StartFile::Headers,
            Start::CentreOfMass | Start::Transform(_) => StartFile::CentreOfMass,
        }
    }

    /// The start itself.
    ///
    /// # Errors
    /// A file that cannot be read or holds no affine.
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

/// Which images and warps are written, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Format of images and warps.
    pub format: Format,
    /// Whether the warped images are written.
    pub warped: bool,
    /// Whether the inverse warp and the inversely warped image are written.
    pub inverse: bool,
    /// Whether the transforms of each direction are written as one composite, instead of affine and warps.
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
    /// The extension of file names, without the dot in front.
    pub fn extension(self) -> &'static str {
        match self {
            Format::NiiGz => "nii.gz",
            Format::Nii => "nii",
        }
    }
}

/// Names of the outputs; `None` for those that are not written.
#[derive(Debug, Clone, PartialEq)]
pub struct Names {
    /// Affine, fixed → moving.
    pub affine: Option<PathBuf>,
    /// Displacement before the affine.
    pub warp: Option<PathBuf>,
    /// Its inverse.
    pub inverse_warp: Option<PathBuf>,
    /// All transforms, fixed → moving, in one file.
    pub composite: Option<PathBuf>,
    /// All transforms, moving → fixed, in one file.
    pub inverse_composite: Option<PathBuf>,
    /// The moving image on the fixed grid.
    pub warped: Option<PathBuf>,
    /// The fixed image on the moving grid.
    pub inverse_warped: Option<PathBuf>,
    /// The moving labels on the fixed grid.
    pub labels: Option<PathBuf>,
    /// Overlap per label.
    pub overlap: Option<PathBuf>,
    /// Files of what is done beside the registration.
    pub further: Vec<PathBuf>,
    /// The page to judge the result by.
    pub report: Option<PathBuf>,
    /// The record.
    pub record: PathBuf,
}

impl Names {
    /// The names of a registration, with or without a deformable stage.
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

    /// Every name, in the order in which they are written.
    pub fn all(&self) -> Vec<&Path> {
        let transforms = [&self.affine, &self.warp, &self.inverse_warp, &self.composite, &self.inverse_composite];
        let others = [&self.warped, &self.inverse_warped, &self.labels, &self.overlap];
        let optional = transforms.into_iter().chain(others).flatten().chain(&self.further).chain(&self.report);
        optional.map(PathBuf::as_path).chain([self.record.as_path()]).collect()
    }

    /// Files of an earlier run under the same prefix that these outputs do not replace.
    pub fn left_over(&self, prefix: &str) -> Vec<PathBuf> {
        let volumes = ["1Warp", "1InverseWarp", "Warped", "InverseWarped", "Labels"];
        let names = volumes.iter().flat_map(|name| [format!("{name}.nii.gz"), format!("{name}.nii")]);
        let others = ["0GenericAffine.mat", "Composite.h5", "InverseComposite.h5", "overlap.csv", REPORT];
        let paths = names.chain(others.map(String::from)).map(|name| PathBuf::from(format!("{prefix}{name}")));
        let written = self.all();
        paths.filter(|path| !written.contains(&path.as_path()) && path.exists()).collect()
    }

    /// Refuses outputs that cannot be written, or that are inputs.
    ///
    /// # Errors
    /// The first output that is refused.
    pub fn check(&self, files: &PairFiles) -> Result<(), Error> {
        Ok(outputs::check(self.all(), files.inputs())?)
    }
}

impl PairFiles {
    /// The name of the page of a prefix, unless another is given.
    pub fn usual_report(prefix: &str) -> PathBuf {
        format!("{prefix}{REPORT}").into()
    }

    /// Every file that is read.
    pub fn inputs(&self) -> Vec<&Path> {
        [self.fixed_inputs(), self.moving_inputs()].concat()
    }

    /// Every file of the fixed side; the start and a list of labels count to it.
    pub fn fixed_inputs(&self) -> Vec<&Path> {
        let start = match &self.start {
            StartFile::File(file) => Some(&file.path),
            _ => None,
        };
        let optional = [self.fixed_mask.as_ref(), self.white_matter.as_ref(), self.labels.fixed.as_ref(), start];
        let list = self.labels.list.as_deref().and_then(inputs::label_list_file);
        let images = std::iter::once(&self.fixed).chain(self.channels.iter().map(|files| &files.fixed));
        images.chain(optional.into_iter().flatten()).map(PathBuf::as_path).chain(list).collect()
    }

    /// Every file of the moving side.
    pub fn moving_inputs(&self) -> Vec<&Path> {
        let optional = [self.moving_mask.as_ref(), self.labels.moving.as_ref()];
        let images = std::iter::once(&self.moving).chain(self.channels.iter().map(|files| &files.moving));
        images.chain(&self.carried).chain(optional.into_iter().flatten()).map(PathBuf::as_path).collect()
    }
}
