//! Why a study, or one registration of files, stops.

use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::FusionError;
use antsreg_core::chain::ChainError;
use antsreg_core::io;
use antsreg_core::io::outputs::{NamesPath, OutputError};
use antsreg_register as register;

use crate::inputs;
use crate::labels::AtlasesError;
use crate::template;

/// Something that stops a registration of files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
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
    /// An image whose numbers cannot be computed with in single precision.
    #[error(
        "{}: voxels from {least:e} to {most:e}, expected a range between {:e} and {:e}; is it the right file? Multiplied by \
         a number it could be registered", path.display(), inputs::RANGE[0], inputs::RANGE[1]
    )]
    Range {
        /// The image.
        path: PathBuf,
        /// The smallest value.
        least: f32,
        /// The largest.
        most: f32,
    },
    /// An image whose shading cannot be found.
    #[error("{}: {source}", path.display())]
    Bias {
        /// The image.
        path: PathBuf,
        /// Why.
        source: antsreg_heads::bias::Error,
    },
    /// A mask that keeps nothing.
    #[error("{}: the mask is empty: no voxel is above 0.5; is it the right file?", path.display())]
    EmptyMask {
        /// The mask.
        path: PathBuf,
    },
    /// Fractions where labels belong.
    #[error("{0}")]
    NotLabels(#[source] io::Error),
    /// A label map with background only.
    #[error("{}: no voxel has a label other than 0; is it the right file?", path.display())]
    NoLabels {
        /// The label map.
        path: PathBuf,
    },
    /// Two volumes that must lie on one grid do not.
    #[error("{}: found {found}; expected the grid of {}, {expected}", path.display(), other.display())]
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
        "{} and {} do not overlap at the start ({start}). The one has {}, the other {}", fixed.display(),
        moving.display(), grids[0], grids[1]
    )]
    NoOverlap {
        /// The fixed image.
        fixed: PathBuf,
        /// The moving image.
        moving: PathBuf,
        /// Their grids in words.
        grids: Box<[String; 2]>,
        /// The start.
        start: String,
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
    /// An image of another kind than was asked for.
    #[error(
        "{}: expected {expected}, found {} volumes along the fourth axis and {} along the fifth", path.display(), found[0],
        found[1]
    )]
    OtherKind {
        /// The image.
        path: PathBuf,
        /// What was asked for.
        expected: &'static str,
        /// Volumes along the fourth and the fifth axis.
        found: [usize; 2],
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
    #[error("{}: a two-dimensional transform, which cannot be applied to volumes; expected a three-dimensional one", path.display())]
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
    /// Transforms that do not make a chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Two volumes are not on one grid.
    #[error(transparent)]
    Grid(#[from] antsreg_core::GridMismatch),
    /// A list of labels, given in place, that is none.
    #[error("{list}: no such file, and no list of labels: expected whole numbers between commas, found `{found}`")]
    LabelList {
        /// The list.
        list: String,
        /// What is no number.
        found: String,
    },
    /// A list without any label.
    #[error("`{list}`: the list of labels is empty; expected whole numbers between commas, or a file of them")]
    EmptyLabelList {
        /// The list.
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
    /// A recipe that does not go together, or does not suit the images.
    #[error(transparent)]
    Recipe(#[from] register::RecipeError),
    /// A registration was refused or failed.
    #[error(transparent)]
    Register(#[from] register::Error),
    /// A table could not be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// The table.
        path: PathBuf,
        /// Why, and in which line.
        source: csv::Error,
    },
    /// A list of subjects that cannot be used.
    #[error(transparent)]
    Subjects(#[from] crate::subjects::Error),
    /// A list of atlases that cannot be used.
    #[error(transparent)]
    Atlases(#[from] AtlasesError),
    /// One atlas of several cannot be used.
    #[error("atlas {name}: {source}")]
    Atlas {
        /// Its name.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// Labels could not be fused.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// A plot could not be drawn.
    #[error("{}: the plot could not be drawn: {source}", path.display())]
    Plot {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: plotters::drawing::DrawingAreaErrorKind<std::io::Error>,
    },
    /// A page cannot be made.
    #[error(transparent)]
    Report(#[from] antsreg_report::Error),
    /// A thread could not be started, or a device could not be used.
    #[error(transparent)]
    Pool(#[from] antsreg_pool::Error),
    /// A template is not built.
    #[error(transparent)]
    Template(#[from] template::Error),
    /// A record could not be written as JSON, or read.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl Error {
    /// The error as that of an atlas.
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
