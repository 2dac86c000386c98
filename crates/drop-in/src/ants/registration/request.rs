//! A command line of `antsRegistration` as plain data.

use std::path::PathBuf;

use antsreg_kernels::apply;
use antsreg_register::linear::Dof;
use antsreg_study::transforms::TransformFile;

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whether the images have two dimensions.
    pub slices: bool,
    /// The stages, in order.
    pub stages: Vec<StageRequest>,
    /// The initial moving transforms, as listed: a point goes through the first one first.
    pub starts: Vec<StartRequest>,
    /// The initial fixed transforms, likewise: through them the stages see the fixed images; they are in no output.
    pub fixed_starts: Vec<StartRequest>,
    /// Masks, fixed and moving: none, one pair for all stages, or one for each.
    pub masks: Vec<[Option<PathBuf>; 2]>,
    /// What is written.
    pub output: Output,
    /// How the warped images are read between voxels.
    pub interpolation: apply::Interpolation,
    /// Shares of the voxels beyond which intensities are clipped.
    pub winsorise: Option<(f64, f64)>,
    /// Whether the moving histograms are matched to the fixed ones.
    pub match_histograms: bool,
    /// Whether linear transforms in a row become one, and warps in a row.
    pub collapse: bool,
    /// Whether each linear stage goes on with the transform of the one before it, instead of adding its own.
    pub per_stage: bool,
    /// Whether images and warps are written in single precision.
    pub single: bool,
    /// Whether progress is shown.
    pub verbose: bool,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Start of the names of transforms.
    pub prefix: String,
    /// The moving image on the fixed grid.
    pub warped: Option<PathBuf>,
    /// The fixed image on the moving grid.
    pub inverse_warped: Option<PathBuf>,
    /// Whether all transforms are written to one file, and their inverses to another.
    pub composite: bool,
}

/// An initial transform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartRequest {
    /// A file, or its inverse.
    File(TransformFile),
    /// The translation between these points of a fixed and a moving image.
    Between([PathBuf; 2], Landmark),
}

/// A point of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// The centre of the grid.
    Centre,
    /// The centre of mass.
    Mass,
    /// The first voxel.
    Origin,
}

/// A stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRequest {
    /// The transform as typed, for messages.
    pub text: String,
    /// Its transform.
    pub transform: TransformRequest,
    /// Its metrics; at least one.
    pub metrics: Vec<MetricRequest>,
    /// Its levels, coarse to fine; at least one.
    pub levels: Vec<LevelRequest>,
    /// Whether the sigmas are in mm instead of voxels.
    pub sigmas_in_mm: bool,
    /// Slope below which a level has converged; never if it is negative.
    pub threshold: f64,
    /// Iterations over which the slope is measured.
    pub window: usize,
    /// Weights of the parameters, or of the components of updates.
    pub restrict: Option<Vec<f64>>,
}

/// The transform of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransformRequest {
    /// A linear one.
    Linear(Dof),
    /// SyN: length of a step, variances of the smoothing of updates and of the whole field, voxels and voxels².
    Syn {
        /// Length of a step.
        step: f64,
        /// Variance of the smoothing of updates.
        update_variance: f64,
        /// Variance of the smoothing of the whole field.
        total_variance: f64,
    },
}

/// A metric of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRequest {
    /// Its kind.
    pub kind: MetricKind,
    /// Fixed and moving image.
    pub images: [PathBuf; 2],
    /// Its share beside other metrics.
    pub weight: f64,
    /// Of CC the radius, of mutual information the bins.
    pub size: Option<usize>,
}

/// Metrics of ANTs.
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
    /// The name as ANTs has it.
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

/// A level of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRequest {
    /// Most iterations.
    pub iterations: usize,
    /// Shrink factor.
    pub shrink: usize,
    /// Standard deviation of the smoothing, in the unit of the stage.
    pub sigma: f64,
}

impl StageRequest {
    /// Whether any level has an iteration.
    pub fn runs(&self) -> bool {
        self.levels.iter().any(|level| level.iterations > 0)
    }

    /// Whether the transform is linear.
    pub fn is_linear(&self) -> bool {
        matches!(self.transform, TransformRequest::Linear(_))
    }
}
