//! The parsed command line of `antsRegistration`.

use std::path::PathBuf;

use antsreg_kernels::apply;
use antsreg_register::linear::Dof;
use antsreg_register::syn::Mesh;
use antsreg_study::transforms::TransformFile;

/// Parsed options and file names of a command line of `antsRegistration`.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whether the images have two dimensions.
    pub slices: bool,
    /// The stages of the registration, in the order of the command line.
    pub stages: Vec<StageRequest>,
    /// The initial moving transforms in the order of the command line. A point passes through the first transform
    /// first.
    pub starts: Vec<StartRequest>,
    /// The initial fixed transforms in the order of the command line. A point passes through the first transform first.
    /// Fixed images are resampled through these transforms before the stages. No output contains them.
    pub fixed_starts: Vec<StartRequest>,
    /// Masks of the fixed and moving image: none, one pair for all stages, or one pair for each stage.
    pub masks: Vec<[Option<PathBuf>; 2]>,
    /// Names of the output files of `antsRegistration`.
    pub output: Output,
    /// Interpolation of the warped images.
    pub interpolation: apply::Interpolation,
    /// Lower and upper quantile (0 to 1) at which intensities are clipped; `None` for no clipping.
    pub winsorise: Option<(f64, f64)>,
    /// Whether the histogram of the moving image is matched to that of the fixed image.
    pub match_histograms: bool,
    /// Whether successive linear transforms are composed to one output, and likewise successive warps.
    pub collapse: bool,
    /// Whether each linear stage starts from the transform of the linear stage before and replaces this transform,
    /// instead of adding a transform of its own.
    pub per_stage: bool,
    /// Whether images and warps are written in single precision.
    pub single: bool,
    /// Whether progress is shown.
    pub verbose: bool,
}

/// Names of the output files of `antsRegistration`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Start of the names of transform files.
    pub prefix: String,
    /// File of the moving image, resampled on the grid of the fixed image.
    pub warped: Option<PathBuf>,
    /// File of the fixed image, resampled on the grid of the moving image.
    pub inverse_warped: Option<PathBuf>,
    /// Whether all transforms are written to one file, and their inverses to another file.
    pub composite: bool,
}

/// An initial transform of `antsRegistration`, as requested on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartRequest {
    /// A transform read from a file, or its inverse.
    File(TransformFile),
    /// The translation from a landmark (such as the centre of mass) of the first, fixed image to the same landmark of
    /// the second, moving image.
    Between([PathBuf; 2], Landmark),
}

/// A landmark of an image. The translation that aligns the landmarks of two images can be the initial transform of a
/// registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// The centre of the image's grid.
    Centre,
    /// The centre of mass of the intensities.
    Mass,
    /// The centre of the image's first voxel.
    Origin,
}

/// A stage of a registration, as requested on the command line of `antsRegistration`.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRequest {
    /// The transform of this stage as given on the command line, for messages.
    pub text: String,
    /// The type of the stage's transform (linear or SyN), with its parameters.
    pub transform: TransformRequest,
    /// The similarity metrics; at least one metric.
    pub metrics: Vec<MetricRequest>,
    /// The resolution levels of the stage, coarse to fine; at least one level.
    pub levels: Vec<LevelRequest>,
    /// Whether the standard deviations of the smoothing (sigmas) are in mm instead of voxels.
    pub sigmas_in_mm: bool,
    /// Convergence threshold: a level ends when the relative fall of the energy over the window is below this
    /// threshold. A negative threshold is never reached.
    pub threshold: f64,
    /// Window of the convergence test: the number of iterations over which the fall of the energy is measured.
    pub window: usize,
    /// Weights of `--restrict-deformation`: for the parameters of a linear stage, or for the components of a warp's
    /// updates.
    pub restrict: Option<Vec<f64>>,
}

/// The type of a stage's transform, linear or SyN, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransformRequest {
    /// A linear transform, such as rigid or affine, given by its degrees of freedom.
    Linear(Dof),
    /// The transform SyN (symmetric normalization) or BSplineSyN, with the parameters of its command line.
    Syn {
        /// Gradient step of SyN, voxels.
        step: f64,
        /// Variance of the Gaussian that smooths the updates of SyN's displacement field, voxels².
        update_variance: f64,
        /// Variance of the smoothing of the whole displacement field, voxels².
        total_variance: f64,
        /// Meshes of the B-splines that BSplineSyN fits to updates and to the whole displacement field.
        meshes: [Option<Mesh>; 2],
    },
}

/// A similarity metric of a registration stage, with its images and its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRequest {
    /// The kind of similarity metric.
    pub kind: MetricKind,
    /// Paths of the fixed and the moving image.
    pub images: [PathBuf; 2],
    /// Weight of the metric relative to the other metrics of the stage.
    pub weight: f64,
    /// Radius of the window of windowed cross-correlation (CC) in voxels, or number of intensity bins of mutual
    /// information.
    pub size: Option<usize>,
}

/// Kinds of similarity metrics in ANTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Windowed cross-correlation.
    Cc,
    /// Mutual information.
    Mattes,
    /// Global correlation.
    Gc,
    /// Mean squares.
    MeanSquares,
    /// Thirion's demons.
    Demons,
}

impl MetricKind {
    /// Returns the name that ANTs gives to the similarity metric.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Cc => "CC",
            MetricKind::Mattes => "Mattes",
            MetricKind::Gc => "GC",
            MetricKind::MeanSquares => "MeanSquares",
            MetricKind::Demons => "Demons",
        }
    }
}

/// A resolution level of a registration stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRequest {
    /// Largest number of iterations on this resolution level.
    pub iterations: usize,
    /// Factor by which the images are reduced along each axis on this resolution level.
    pub shrink: usize,
    /// Standard deviation of the Gaussian that smooths the images on this resolution level, in mm if `sigmas_in_mm` of
    /// the stage is set, else in voxels.
    pub sigma: f64,
}

impl StageRequest {
    /// Whether any level of the stage has at least one iteration.
    pub fn runs(&self) -> bool {
        self.levels.iter().any(|level| level.iterations > 0)
    }

    /// Whether the transform is linear.
    pub fn is_linear(&self) -> bool {
        matches!(self.transform, TransformRequest::Linear(_))
    }
}
