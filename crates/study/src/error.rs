//! Errors of studies, and of single registrations of files.

use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::FusionError;
use antsreg_core::chain::ChainError;
use antsreg_core::io;
use antsreg_core::io::outputs::{NamesPath, OutputError};
use antsreg_register as register;

use crate::inputs;
use crate::labels::AtlasesError;
use crate::template;

/// Why a study or a registration of files fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of images or transforms could not be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A name cannot be written to a record, because it is not UTF-8.
    #[error("{}: the name is not UTF-8; rename or link the file", path.display())]
    NotUtf8 {
        /// Path of the file.
        path: PathBuf,
    },
    /// All voxels of an image have the same value.
    #[error("{}: every voxel is {value}, expected an image with contrast; is it the right file?", path.display())]
    Constant {
        /// Path of the image.
        path: PathBuf,
        /// The value that all voxels of the image have.
        value: f32,
    },
    /// The range of an image's intensities cannot be used in single precision.
    #[error(
        "{}: voxel values from {least:e} to {most:e}, expected a range between {:e} and {:e}; is it the right file? \
         If so, multiply its intensities by a constant", path.display(), inputs::RANGE[0], inputs::RANGE[1]
    )]
    Range {
        /// Path of the image.
        path: PathBuf,
        /// The smallest voxel value of the image.
        least: f32,
        /// The largest voxel value of the image.
        most: f32,
    },
    /// The bias field (shading) of an image cannot be estimated.
    #[error("{}: {source}", path.display())]
    Bias {
        /// Path of the image.
        path: PathBuf,
        /// The error of the bias field estimation.
        source: antsreg_heads::bias::Error,
    },
    /// The brain of an image cannot be found, or a template cannot be used for brain extraction.
    #[error("{}: {source}", path.display())]
    Brain {
        /// Path of the image.
        path: PathBuf,
        /// The error of the brain extraction.
        source: Box<antsreg_heads::brain::Error>,
    },
    /// The white matter of an image cannot be found.
    #[error("{}: white matter cannot be found: {source}", path.display())]
    WhiteMatter {
        /// Path of the image.
        path: PathBuf,
        /// The error of the classification of the brain's intensities into tissues.
        source: Box<antsreg_heads::tissue::Error>,
    },
    /// A label map or a mask where an image is expected.
    #[error(
        "{}: found a label map or a mask (whole numbers that are equal over whole regions), expected an image; to \
         transfer labels, register the images to which they belong and resample the labels through the result; to \
         align shapes, use the command antsRegistration of this package, which accepts masks", path.display()
    )]
    LabelMap {
        /// Path of the label map.
        path: PathBuf,
    },
    /// A mask has no voxel above 0.5.
    #[error("{}: the mask is empty: no voxel is above 0.5; is it the right file?", path.display())]
    EmptyMask {
        /// Path of the mask.
        path: PathBuf,
    },
    /// A lesion covers more than half of the brain, so the registration would compare too little.
    #[error(
        "{}: the lesion covers {:.0} % of the brain in {}, expected at most half; 1 marks the lesion, 0 everything else; \
         is it a brain mask?", path.display(), 100.0 * share, image.display()
    )]
    LargeLesion {
        /// Path of the lesion mask.
        path: PathBuf,
        /// Path of the image with the lesion.
        image: PathBuf,
        /// Share of the brain that the lesion covers, 0 to 1.
        share: f64,
    },
    /// Values that are not integers where labels are expected.
    #[error("{0}")]
    NotLabels(#[source] io::Error),
    /// A label map contains only background.
    #[error("{}: no voxel has a label other than 0; is it the right file?", path.display())]
    NoLabels {
        /// Path of the label map.
        path: PathBuf,
    },
    /// Two volumes lie on different grids.
    #[error("{}: the grid is {found}; expected the grid of {}: {expected}", path.display(), other.display())]
    OtherGrid {
        /// Path of the volume.
        path: PathBuf,
        /// Description of the volume's grid, for the message.
        found: String,
        /// Path of the other volume, on whose grid the volume should lie.
        other: PathBuf,
        /// Description of the expected grid, for the message.
        expected: String,
        /// Name of an interpolation with which the volume can be resampled, for the message.
        interpolation: &'static str,
    },
    /// The images do not overlap after the initial transform, before the registration.
    #[error(
        "{} and {} do not overlap at the start ({start}). Grid of the fixed image: {}; of the moving image: {}",
        fixed.display(), moving.display(), grids[0], grids[1]
    )]
    NoOverlap {
        /// Path of the fixed image.
        fixed: PathBuf,
        /// Path of the moving image.
        moving: PathBuf,
        /// Descriptions of the grids of the fixed and the moving image, for the message.
        grids: Box<[String; 2]>,
        /// Description of the initial transform, for the message.
        start: String,
    },
    /// A slice and a volume were given where all images must have the same number of dimensions.
    #[error("{} is a slice, {} a volume: expected two slices or two volumes", slice.display(), volume.display())]
    SliceAndVolume {
        /// Path of the slice: a two-dimensional image.
        slice: PathBuf,
        /// Path of the volume: a three-dimensional image.
        volume: PathBuf,
    },
    /// The image of a channel does not overlap with the first channel of the same side (fixed or moving).
    #[error(
        "{}: the image does not overlap with {}, with which it must be aligned; are they of one person and session?",
        path.display(), other.display()
    )]
    Elsewhere {
        /// Path of the image of a second or later channel, which does not overlap with the image of the first channel.
        path: PathBuf,
        /// Path of the image of the first channel of the same side (fixed or moving).
        other: PathBuf,
    },
    /// An image is of another kind than requested.
    #[error(
        "{}: expected {expected}, found {} volumes along the fourth axis and {} along the fifth", path.display(), found[0],
        found[1]
    )]
    OtherKind {
        /// Path of the image.
        path: PathBuf,
        /// Name of the requested kind of image, for the message.
        expected: &'static str,
        /// Number of volumes of the image along the fourth and the fifth axis.
        found: [usize; 2],
    },
    /// A file contains no transform.
    #[error("{}: not a transform that can be read: {found}; expected {expected}", path.display())]
    NotATransform {
        /// Path of the file.
        path: PathBuf,
        /// Description of what the file contains instead of a transform, for the message.
        found: String,
        /// Names of the formats of transforms that can be read, for the message.
        expected: &'static str,
    },
    /// A two-dimensional transform was given for volumes.
    #[error(
        "{}: a two-dimensional transform cannot be applied to volumes; expected a three-dimensional transform",
        path.display()
    )]
    TransformOfSlices {
        /// Path of the transform.
        path: PathBuf,
    },
    /// A transform moves slices out of their plane.
    #[error(
        "{}: the transform moves points out of the plane of the slices; expected a two-dimensional transform",
        path.display()
    )]
    OutOfPlane {
        /// Path of the transform.
        path: PathBuf,
    },
    /// Several transforms cannot be joined into a chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Two volumes lie on different grids.
    #[error(transparent)]
    Grid(#[from] antsreg_core::GridMismatch),
    /// A text that should list labels contains something else.
    #[error("{list}: no such file, and no list of labels: expected whole numbers between commas, found `{found}`")]
    LabelList {
        /// The text that was given as list of labels.
        list: String,
        /// The part of the list of labels that is no number.
        found: String,
    },
    /// A list contains no labels.
    #[error(
        "`{list}`: the list of labels is empty; expected whole numbers between commas, or a file of whole numbers"
    )]
    EmptyLabelList {
        /// The text that was given as list of labels.
        list: String,
    },
    /// None of the listed labels is in the label map.
    #[error("{list}: none of these labels is in {}; does the list belong to this label map?", path.display())]
    NoListedLabel {
        /// The text of the list of labels, or the path of its file.
        list: String,
        /// Path of the label map.
        path: PathBuf,
    },
    /// The options of a registration are inconsistent, or do not fit the images.
    #[error(transparent)]
    Recipe(#[from] register::RecipeError),
    /// A registration was refused or failed.
    #[error(transparent)]
    Register(#[from] register::Error),
    /// A table could not be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// Path of the table.
        path: PathBuf,
        /// The error of the CSV library. Its text can contain the number of the line in the table.
        source: csv::Error,
    },
    /// A list of subjects cannot be used.
    #[error(transparent)]
    Subjects(#[from] crate::subjects::Error),
    /// A list of atlases cannot be used.
    #[error(transparent)]
    Atlases(#[from] AtlasesError),
    /// One of several atlases cannot be used.
    #[error("atlas {name}: {source}")]
    Atlas {
        /// Name of the atlas.
        name: String,
        /// The error because of which the atlas cannot be used.
        source: Box<Error>,
    },
    /// Labels could not be fused.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// A plot could not be drawn.
    #[error("{}: the plot could not be drawn: {source}", path.display())]
    Plot {
        /// Path of the plot.
        path: PathBuf,
        /// The error of the plotting library.
        source: plotters::drawing::DrawingAreaErrorKind<std::io::Error>,
    },
    /// An HTML page cannot be made.
    #[error(transparent)]
    Report(#[from] antsreg_report::Error),
    /// A thread could not be started, or a device could not be used.
    #[error(transparent)]
    Pool(#[from] antsreg_pool::Error),
    /// The reference volume of a motion correction cannot be used.
    #[error("{}: the image cannot be the reference of the motion correction: {source}", path.display())]
    MotionReference {
        /// Path of the image.
        path: PathBuf,
        /// The error of the motion correction.
        source: antsreg_motion::Error,
    },
    /// A volume of a series cannot be aligned.
    #[error("{}: volume {index}, counted from 0: {source}", path.display())]
    MotionVolume {
        /// Path of the series.
        path: PathBuf,
        /// Index of the volume, counted from 0.
        index: usize,
        /// The error of the motion correction.
        source: antsreg_motion::Error,
    },
    /// The number of transforms differs from the number of the series' volumes.
    #[error("{}: {found} transforms, expected {count}, one for each volume of {}", path.display(), series.display())]
    MotionCount {
        /// Path of the file with the transforms of a motion correction.
        path: PathBuf,
        /// Number of transforms found in the file.
        found: usize,
        /// Path of the series.
        series: PathBuf,
        /// Number of volumes of the series.
        count: usize,
    },
    /// A series does not have the requested volume.
    #[error("{}: no volume {index}, counted from 0: the series has {count} volumes", path.display())]
    NoVolume {
        /// Path of the series.
        path: PathBuf,
        /// Index of the requested volume, counted from 0.
        index: usize,
        /// Number of volumes of the series.
        count: usize,
    },
    /// The times of GPU kernels cannot be measured, because the registration would run on the CPU.
    #[error("the times of GPU kernels cannot be measured on the CPU{}", on_cpu(why.as_ref()))]
    NoKernels {
        /// Why `auto` uses the CPU; `None` if the CPU was chosen.
        why: Option<register::WhyCpu>,
    },
    /// An existing file would be replaced that this program has not written.
    #[error(
        "{}: this file is not of antsreg-gpu, and would be replaced; give another output folder, or move the file",
        path.display()
    )]
    NotOwn {
        /// Path of the file.
        path: PathBuf,
    },
    /// The name of an output file has no known extension.
    #[error("{}: unknown file extension, expected {expected}", path.display())]
    OutputExtension {
        /// Name of the output file.
        path: PathBuf,
        /// Extensions that the name of this output file can have.
        expected: &'static str,
    },
    /// The time points of a person cannot be compared.
    #[error(transparent)]
    Longitudinal(#[from] crate::longitudinal::Error),
    /// The distortion of echo-planar images cannot be corrected.
    #[error(transparent)]
    Undistort(Box<crate::undistort::Error>),
    /// A template could not be built.
    #[error(transparent)]
    Template(#[from] template::Error),
    /// A JSON file, such as the record of a registration, could not be read or written.
    #[error("{}: {source}", path.display())]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// The error of the JSON library.
        source: serde_json::Error,
    },
}

/// The part of a message that says why the CPU is used.
fn on_cpu(why: Option<&register::WhyCpu>) -> String {
    why.map_or(String::new(), |why| format!(", which is used because {why}"))
}

impl From<crate::undistort::Error> for Error {
    fn from(error: crate::undistort::Error) -> Error {
        Error::Undistort(Box::new(error))
    }
}

impl Error {
    /// Adds the name of an atlas to an error about this atlas.
    pub(crate) fn of_atlas(self, name: &str) -> Error {
        Error::Atlas { name: name.into(), source: Box::new(self) }
    }
}

impl NamesPath for Error {
    fn about(self, target: &Path) -> Error {
        match self {
            Error::File(error) => Error::File(error.about(target)),
            Error::Output(error) => Error::Output(error.about(target)),
            Error::Json { source, .. } => Error::Json { path: target.into(), source },
            Error::Table { source, .. } => Error::Table { path: target.into(), source },
            other => other,
        }
    }
}
