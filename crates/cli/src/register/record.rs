//! `PREFIXrecord.json`: what was done, with what, and how it came out.

use std::path::{Path, PathBuf};

use antsreg_core::Grid;
use antsreg_core::overlap::Overlap;
use antsreg_linear as linear;
use antsreg_syn as syn;
use serde::Serialize;

use super::coverage::Coverage;
use super::device_memory::DeviceMemory;
use super::parameters::Parameters;
use super::profile::Profile;
use crate::device::Description;
use crate::jacobian::{Consistency, Summary};

/// The whole record.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Name of the program.
    pub program: &'static str,
    /// Its version.
    pub version: &'static str,
    /// As typed.
    pub command_line: Vec<String>,
    /// Where it ran.
    pub device: Description,
    /// Threads that computed.
    pub threads: usize,
    /// What was read.
    pub inputs: InputsRecord,
    /// What was asked for, all defaults filled in.
    pub parameters: Parameters,
    /// What the affine stage did.
    pub linear: Option<LinearRecord>,
    /// What the diffeomorphic stage did.
    pub syn: Option<SynRecord>,
    /// Affine of the result, fixed → moving, RAS mm, row by row.
    pub affine_ras: [[f64; 4]; 3],
    /// Jacobian determinants of the warps.
    pub jacobian: Option<JacobianRecord>,
    /// How alike the fixed and the warped moving image are.
    pub similarity: Similarity,
    /// How much of the fixed image the moving one covers.
    pub coverage: Coverage,
    /// What there is to doubt about the result.
    pub warnings: Vec<String>,
    /// Overlap of the labels.
    pub overlap: Option<OverlapRecord>,
    /// Wall time of each part.
    pub seconds: Seconds,
    /// The most memory held, where the system says.
    pub peak_memory_bytes: Option<usize>,
    /// Memory of a GPU.
    pub device_memory: Option<DeviceMemory>,
    /// Time of each kernel of a GPU, with `--profile`.
    pub profile: Option<Profile>,
    /// Files written beside this one.
    pub outputs: Vec<PathBuf>,
}

/// What was read.
#[derive(Debug, Serialize)]
pub struct InputsRecord {
    /// The fixed image.
    pub fixed: ImageRecord,
    /// The moving image.
    pub moving: ImageRecord,
    /// Further pairs of images for the diffeomorphic stage, fixed and moving.
    pub channels: Vec<[ImageRecord; 2]>,
    /// Mask of the fixed image.
    pub fixed_mask: Option<PathBuf>,
    /// Mask of the moving image.
    pub moving_mask: Option<PathBuf>,
    /// Labels of the fixed image.
    pub fixed_labels: Option<PathBuf>,
    /// Labels of the moving image.
    pub moving_labels: Option<PathBuf>,
}

/// An image and its grid.
#[derive(Debug, Serialize)]
pub struct ImageRecord {
    /// The file.
    pub path: PathBuf,
    /// Voxels along each axis.
    pub shape: [usize; 3],
    /// Distance between voxel centres, mm.
    pub spacing_mm: [f64; 3],
    /// Letters of the axes.
    pub orientation: String,
}

impl ImageRecord {
    /// The image of `path`.
    pub fn new(path: &Path, grid: &Grid) -> ImageRecord {
        ImageRecord {
            path: path.into(),
            shape: grid.shape,
            spacing_mm: grid.spacing.into(),
            orientation: crate::geometry::orientation(grid),
        }
    }
}

/// What the affine stage did.
#[derive(Debug, Serialize)]
pub struct LinearRecord {
    /// Cost at the end, 0 to 1.
    pub cost: f64,
    /// Cost at the end of each level, coarse to fine.
    pub levels: Vec<LinearLevel>,
}

/// A level of the affine stage.
#[derive(Debug, Serialize)]
pub struct LinearLevel {
    /// Resolution.
    pub mm: f64,
    /// Cost at its end.
    pub cost: f64,
}

impl From<&linear::Outcome> for LinearRecord {
    fn from(outcome: &linear::Outcome) -> LinearRecord {
        let levels = outcome.levels.iter().map(|&(mm, cost)| LinearLevel { mm, cost }).collect();
        LinearRecord { cost: outcome.cost, levels }
    }
}

/// What the diffeomorphic stage did.
#[derive(Debug, Serialize)]
pub struct SynRecord {
    /// Coarse to fine.
    pub levels: Vec<SynLevel>,
    /// Rounds that relaxing the warps took.
    pub relaxing_rounds: usize,
    /// Voxels of both warps that fold or miss their inverse by more than the limit, as far as the last round saw: 0 but
    /// where it was hopeless.
    pub beyond_limits: usize,
}

/// A level of the diffeomorphic stage.
#[derive(Debug, Serialize)]
pub struct SynLevel {
    /// Shrink factor.
    pub shrink: usize,
    /// Iterations done.
    pub iterations: usize,
    /// Whether the energy stopped falling before the last iteration allowed.
    pub converged: bool,
    /// Whether nothing of it was kept, as it had made the images no more alike.
    pub undone: bool,
    /// Energy of each iteration.
    pub energies: Vec<f64>,
}

impl SynRecord {
    /// What is told of a course.
    pub fn new(course: &syn::Course) -> SynRecord {
        let levels = course.levels.iter().map(|level| SynLevel {
            shrink: level.shrink,
            iterations: level.energies.len(),
            converged: level.converged,
            undone: level.undone,
            energies: level.energies.clone(),
        });
        let syn::Relaxed { rounds, beyond } = course.relaxed;
        SynRecord { levels: levels.collect(), relaxing_rounds: rounds, beyond_limits: beyond }
    }
}

/// Jacobian determinants of both warps, affine excluded, where the fixed mask counts or everywhere.
#[derive(Debug, Serialize)]
pub struct JacobianRecord {
    /// Of `1Warp`.
    pub warp: Summary,
    /// Of `1InverseWarp`.
    pub inverse_warp: Summary,
    /// How nearly the two undo each other, the warp acting first.
    pub warp_then_inverse: Consistency,
    /// The same, the inverse warp acting first.
    pub inverse_then_warp: Consistency,
}

impl JacobianRecord {
    /// What is told of warps.
    pub fn new(scores: &syn::Scores) -> JacobianRecord {
        let syn::Scores { warp, inverse_warp, warp_then_inverse, inverse_then_warp } = *scores;
        JacobianRecord {
            warp: warp.into(),
            inverse_warp: inverse_warp.into(),
            warp_then_inverse: warp_then_inverse.into(),
            inverse_then_warp: inverse_then_warp.into(),
        }
    }
}

/// How alike the fixed and the moving image are: Pearson's correlation where the fixed mask counts, or everywhere.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Similarity {
    /// Brought over by the start alone.
    pub correlation_at_start: Option<f64>,
    /// Brought over by the result.
    pub correlation: Option<f64>,
}

/// Overlap of fixed labels and carried moving labels.
#[derive(Debug, Serialize)]
pub struct OverlapRecord {
    /// Labels that counted.
    pub labels: usize,
    /// Mean over labels.
    pub mean_jaccard: f64,
    /// Mean over labels.
    pub mean_dice: f64,
    /// Sum of intersections over sum of unions.
    pub total_jaccard: f64,
    /// Twice the sum of intersections over the sum of volumes.
    pub total_dice: f64,
}

impl From<&Overlap> for OverlapRecord {
    fn from(overlap: &Overlap) -> OverlapRecord {
        let [_, mean_jaccard, mean_dice, ..] = overlap.mean();
        let all = overlap.all();
        OverlapRecord {
            labels: overlap.labels.len(),
            mean_jaccard,
            mean_dice,
            total_jaccard: all.jaccard(),
            total_dice: all.dice(),
        }
    }
}

/// Wall times.
#[derive(Debug, Default, Serialize)]
pub struct Seconds {
    /// Reading and checking, and waiting for a GPU.
    pub read: f64,
    /// Getting a GPU ready, while files are read.
    pub device: Option<f64>,
    /// Affine stage.
    pub linear: Option<f64>,
    /// Diffeomorphic stage.
    pub syn: Option<f64>,
    /// Warped images, labels and writing.
    pub outputs: f64,
    /// Everything up to this record.
    pub total: f64,
}

impl Seconds {
    /// Of all parts that were timed.
    pub fn sum(&self) -> f64 {
        self.read + self.linear.unwrap_or(0.0) + self.syn.unwrap_or(0.0) + self.outputs
    }
}
