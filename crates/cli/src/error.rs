//! Everything that can stop a command, what to do about it, and the exit code it gives.

mod subjects;
mod usage;

use std::path::{Path, PathBuf};

use antsreg_core::chain::ChainError;
use antsreg_core::io;

use crate::device::TooLittle;
pub use subjects::SubjectsError;
pub use usage::UsageError;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The options do not go together.
    #[error("{0}")]
    Usage(#[from] UsageError),
    /// The thread pool could not be made.
    #[error("the threads could not be started: {0}; try a smaller --threads")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// A file of images or transforms could not be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("{}: could not be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Standard output was closed or is full.
    #[error("standard output: {0}")]
    Stdout(#[source] std::io::Error),
    /// The folder for the output does not exist.
    #[error("{}: no such folder; make it first, or give another output name", folder.display())]
    NoOutputFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder for the output takes no files.
    #[error("{}: no file can be made in this folder: {source}; give another output name", folder.display())]
    OutputFolder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An output name is that of a folder.
    #[error("{}: is a folder, expected the name of a file to write", path.display())]
    OutputIsFolder {
        /// The name.
        path: PathBuf,
    },
    /// An output name is that of something that no file may replace.
    #[error("{}: is a pipe or a device, expected the name of a file to write", path.display())]
    OutputIsDevice {
        /// The name.
        path: PathBuf,
    },
    /// An output name is that of a file that nobody may write.
    #[error("{}: is write-protected; give another output name, or allow writing (chmod u+w)", path.display())]
    OutputProtected {
        /// The name.
        path: PathBuf,
    },
    /// An output name is that of the log.
    #[error("{}: the name of both the log and an output; give another name for one of them", path.display())]
    OutputIsLog {
        /// The name.
        path: PathBuf,
    },
    /// An output name does not say its format.
    #[error("{}: unknown file extension, expected {expected}", path.display())]
    OutputExtension {
        /// The name.
        path: PathBuf,
        /// Names that would do.
        expected: &'static str,
    },
    /// The log would replace something else.
    #[error("{}: is no log of this program, and would be lost; give another name for the log", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// A name that records cannot hold.
    #[error("{}: the name is not UTF-8; rename or link the file", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// An image without any contrast.
    #[error("{}: every voxel is {value}, expected an image with contrast; is it the right file?", path.display())]
    Constant {
        /// The image.
        path: PathBuf,
        /// The one value.
        value: f32,
    },
    /// A value that no integer type holds.
    #[error("{}: {value:e} does not fit into 32 bits; leave --integer out", path.display())]
    NoInteger {
        /// The image.
        path: PathBuf,
        /// The value.
        value: f32,
    },
    /// A mask that keeps nothing.
    #[error("{}: the mask is empty: no voxel is above 0.5; is it the right file?", path.display())]
    EmptyMask {
        /// The mask.
        path: PathBuf,
    },
    /// Fractions where labels belong.
    #[error("{0}; what `apply` carries stays a label map with -n generic-label")]
    NotLabels(#[source] io::Error),
    /// A label map with background only.
    #[error("{}: no voxel has a label other than 0; is it the right file?", path.display())]
    NoLabels {
        /// The label map.
        path: PathBuf,
    },
    /// Two volumes that must lie on one grid do not.
    #[error(
        "{}: found {found}; expected the grid of {}, {expected}; bring it there with `antsreg-gpu apply -i {} -r {} -n \
         {interpolation} -o OUT`", path.display(), other.display(), path.display(), other.display()
    )]
    OtherGrid {
        /// The volume.
        path: PathBuf,
        /// Its grid in words.
        found: String,
        /// The volume whose grid it should have.
        other: PathBuf,
        /// That grid in words.
        expected: String,
        /// An interpolation that suits it.
        interpolation: &'static str,
    },
    /// Nothing of the moving image lies where the fixed image is.
    #[error(
        "{} and {} do not overlap at the start ({start}); {advice} The one has {}, the other {}", fixed.display(),
        moving.display(), grids[0], grids[1]
    )]
    NoOverlap {
        /// The fixed image.
        fixed: PathBuf,
        /// The moving image.
        moving: PathBuf,
        /// Their grids in words.
        grids: Box<[String; 2]>,
        /// The start as typed.
        start: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// A two-dimensional image where one of three dimensions belongs, or the other way round.
    #[error("{} is a slice, {} a volume: they must be alike", slice.display(), volume.display())]
    SliceAndVolume {
        /// The image of two dimensions.
        slice: PathBuf,
        /// The image of three.
        volume: PathBuf,
    },
    /// A further image that is not where the first one of its side is.
    #[error(
        "{}: lies nowhere where {} does, with which it must be aligned; are they of one person and session?",
        path.display(), other.display()
    )]
    Elsewhere {
        /// The further image.
        path: PathBuf,
        /// The first one.
        other: PathBuf,
    },
    /// A transform was expected, and the file holds something else.
    #[error("{}: not a transform that can be read: {found}; expected {expected}", path.display())]
    NotATransform {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// A transform of slices for volumes.
    #[error("{}: a transform of two dimensions, which says nothing of volumes; expected one of three", path.display())]
    TransformOfSlices {
        /// The transform.
        path: PathBuf,
    },
    /// A transform that leaves the plane, for slices.
    #[error("{}: moves points out of the plane of the slices; expected a transform of two dimensions", path.display())]
    OutOfPlane {
        /// The transform.
        path: PathBuf,
    },
    /// An image whose numbers cannot be computed with in single precision.
    #[error(
        "{}: voxels from {least:e} to {most:e}, expected a range between {:e} and {:e}; is it the right file? Multiplied by \
         a number it could be registered", path.display(), crate::inputs::RANGE[0], crate::inputs::RANGE[1]
    )]
    Range {
        /// The image.
        path: PathBuf,
        /// The smallest value.
        least: f32,
        /// The largest.
        most: f32,
    },
    /// Transforms that do not make a chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Two volumes are not on one grid.
    #[error(transparent)]
    Grid(#[from] antsreg_core::GridMismatch),
    /// A logarithm of what is not positive.
    #[error("{}: folds in {folded} voxels, which have no logarithm; leave --logarithm out", path.display())]
    Folded {
        /// The warp.
        path: PathBuf,
        /// Voxels whose determinant is not positive.
        folded: usize,
    },
    /// A list of labels, typed in place, that is none.
    #[error("{list}: no such file, and no list of labels: expected whole numbers between commas, found `{found}`")]
    LabelList {
        /// The list as typed.
        list: String,
        /// What is no number.
        found: String,
    },
    /// A list without any label.
    #[error("`{list}`: the list of labels is empty; expected whole numbers between commas, or a file of them")]
    EmptyLabelList {
        /// The list as typed.
        list: String,
    },
    /// A list of labels of another label map.
    #[error("{list}: none of these labels is in {}; does the list belong to it?", path.display())]
    NoListedLabel {
        /// The list or its file.
        list: String,
        /// The label map.
        path: PathBuf,
    },
    /// A table that cannot be read.
    #[error("{}: {source}", path.display())]
    Table {
        /// The table.
        path: PathBuf,
        /// Why, and in which line.
        source: csv::Error,
    },
    /// What was asked for does not fit into memory.
    #[error("{what} {shortage}")]
    Memory {
        /// What needs it.
        what: String,
        /// How much it needs, and how much there is.
        shortage: antsreg_core::memory::Shortage,
    },
    /// Subjects, or the table or folder that lists them.
    #[error(transparent)]
    Subjects(#[from] SubjectsError),
    /// Some of many subjects failed; the others are done.
    #[error("{} of {of} subjects failed: {}; the reasons are in {}", failed.len(), failed.join(", "), summary.display())]
    SomeFailed {
        /// Their names.
        failed: Vec<String>,
        /// How many there are.
        of: usize,
        /// The table of all.
        summary: PathBuf,
    },
    /// What is wrong with one atlas of several.
    #[error("atlas {name}: {source}")]
    Atlas {
        /// What the atlas is called.
        name: String,
        /// What is wrong.
        source: Box<CliError>,
    },
    /// An atlas without labels.
    #[error("{} has no label map; give --atlas IMAGE=LABELS, or a table with the columns image and labels", image.display())]
    NoAtlasLabels {
        /// The atlas's image.
        image: PathBuf,
    },
    /// Every atlas failed.
    #[error("none of the {of} atlases can be used")]
    NoAtlasLeft {
        /// How many there were.
        of: usize,
    },
    /// Some atlases failed; the others were used.
    #[error("{failed} of the {of} atlases could not be used; the results are made without them")]
    AtlasesLeftOut {
        /// How many failed.
        failed: usize,
        /// How many there were.
        of: usize,
    },
    /// Some pairs of a cross-validation could not be registered; the scores are of the others.
    #[error("not every atlas could be brought to every other; the scores are made without those left out")]
    NotEveryPair,
    /// Labels could not be fused.
    #[error(transparent)]
    Fusion(#[from] antsreg_cohort::fusion::FusionError),
    /// A plot could not be drawn.
    #[error("{}: the plot could not be drawn: {source}", path.display())]
    Plot {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: crate::labels::PlotError,
    },
    /// The device that was asked for cannot be used.
    #[error("--device {asked} cannot be used: {reason}; there is {there}")]
    NoDevice {
        /// The device as typed.
        asked: String,
        /// Why.
        reason: antsreg_kernels::Error,
        /// What could be given.
        there: String,
    },
    /// The device has too little free memory.
    #[error("{0}; free some, or compute in main memory with --device cpu")]
    DeviceMemory(TooLittle),
    /// The device failed outside the stages.
    #[error("device: {0}")]
    Device(#[source] antsreg_kernels::Error),
    /// An atlas could not be built.
    #[error(transparent)]
    BuildAtlas(#[from] crate::atlas::Error),
    /// The affine stage failed.
    #[error("affine stage: {0}")]
    Linear(#[from] antsreg_linear::Error),
    /// The diffeomorphic stage failed.
    #[error("syn stage: {0}")]
    Syn(#[from] antsreg_syn::Error),
    /// The resolved parameters could not be written as JSON.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl CliError {
    /// 2 for a command that was not understood, 3 where some of many subjects failed, 1 for a command that failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Subjects(SubjectsError::Channels { .. }) => 2,
            CliError::SomeFailed { failed, of, .. } if failed.len() == *of => 1,
            CliError::SomeFailed { .. } | CliError::AtlasesLeftOut { .. } | CliError::NotEveryPair => 3,
            CliError::BuildAtlas(error) => error.exit_code(),
            _ => 1,
        }
    }

    /// The same error, said of `target` when it came while the file was written under a temporary name.
    pub fn about(self, target: &Path) -> CliError {
        match self {
            CliError::File(io::Error { kind, .. }) => CliError::File(io::Error { path: target.into(), kind }),
            CliError::Write { source, .. } => CliError::Write { path: target.into(), source },
            CliError::Table { source, .. } => CliError::Table { path: target.into(), source },
            CliError::Json { source, .. } => CliError::Json { path: target.into(), source },
            other => other,
        }
    }
}
