//! `PREFIXrecord.json`: inputs, parameters, results and times of a registration.

use std::path::{Path, PathBuf};

use antsreg_core::Grid;
use antsreg_core::overlap::Overlap;
use antsreg_kernels::InverseConsistency;
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::{
    self as register, Coverage, Description, Options, Registration, Similarity, Warning, linear, syn,
};
use serde::{Deserialize, Serialize};

use super::files::{PairFiles, StartFile, Writing};
use super::head::HeadRecord;
use super::inputs::FixedInputs;
use crate::bias::Corrected;
use crate::skulls::{BrainChoice, ExtractedRecord};
use crate::{FileIdentity, WrittenFile, geometry};

/// The whole record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The command line, for readers; no program reads it.
    pub command_line: Vec<String>,
    /// The device that registered.
    pub device: Description,
    /// Threads that computed.
    pub threads: usize,
    /// The files that were read.
    pub inputs: InputsRecord,
    /// What was asked for, all defaults filled in.
    pub parameters: Parameters,
    /// What the last linear stage did.
    pub linear: Option<LinearRecord>,
    /// What the deformable stages did.
    pub syn: Option<SynRecord>,
    /// Affine of the result, fixed → moving, RAS mm, row by row.
    pub affine_ras: [[f64; 4]; 3],
    /// Jacobian determinants of the warps.
    pub jacobian: Option<JacobianRecord>,
    /// Correlation of the fixed and the warped moving image.
    pub similarity: Similarity,
    /// How much of the fixed image the moving one covers.
    pub coverage: Coverage,
    /// Doubts about the result, in words.
    pub warnings: Vec<String>,
    /// The same as data.
    pub doubts: Vec<Warning>,
    /// What was done with a head before its brain was registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadRecord>,
    /// Overlap of the labels.
    pub overlap: Option<OverlapRecord>,
    /// Wall time of each part.
    pub seconds: Seconds,
    /// Peak of the main memory in use, where the system tells it.
    pub peak_memory_bytes: Option<usize>,
    /// Memory of a GPU.
    pub device_memory: Option<DeviceMemory>,
    /// Time of each kernel of a GPU, if they were timed.
    pub profile: Option<serde_json::Value>,
    /// Names of all files that were written, this one included.
    pub outputs: Vec<PathBuf>,
    /// The files that were read, as they were then.
    pub files_read: Vec<FileIdentity>,
    /// The files that were written, but for this one.
    pub files_written: Vec<WrittenFile>,
    /// Step to whose multiples the displacements of the warps are rounded, mm; `None` if rounding was turned off,
    /// or if it would fold a warp.
    #[serde(default)]
    pub displacements_rounded_to_mm: Option<f64>,
    /// The brains that were extracted of the fixed and the moving image, and registered in place of the whole heads.
    #[serde(default)]
    pub brains: [Option<ExtractedRecord>; 2],
}

/// The options of the registration, with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Which images were corrected for shading before they were registered.
    #[serde(default)]
    pub bias: Corrected,
    /// The registration.
    pub options: Options,
    /// The file from which the initial transform was read.
    pub start: StartFile,
    /// Which files were written, and how.
    pub writing: Writing,
    /// How moving labels were resampled.
    pub label_interpolation: LabelInterpolation,
    /// Labels that count in the overlap; `None` for all.
    pub label_list: Option<Vec<i32>>,
    /// Of which sides the brain was to be extracted.
    #[serde(default)]
    pub brain: BrainChoice,
}

impl Parameters {
    /// Of a registration of these files.
    pub fn of(files: &PairFiles, fixed: &FixedInputs, options: &Options) -> Parameters {
        Parameters {
            bias: files.bias,
            options: options.clone(),
            start: files.start.clone(),
            writing: files.writing.clone(),
            label_interpolation: files.labels.interpolation,
            label_list: fixed.label_list.clone().filter(|_| files.labels.list.is_some()),
            brain: files.brain,
        }
    }
}

/// The files that were read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputsRecord {
    /// The fixed image.
    pub fixed: ImageRecord,
    /// The moving image.
    pub moving: ImageRecord,
    /// Further channels, fixed and moving.
    pub channels: Vec<[ImageRecord; 2]>,
    /// Mask of the fixed image.
    pub fixed_mask: Option<PathBuf>,
    /// White matter of the fixed image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_matter: Option<PathBuf>,
    /// Mask of the moving image.
    pub moving_mask: Option<PathBuf>,
    /// Labels of the fixed image.
    pub fixed_labels: Option<PathBuf>,
    /// Labels of the moving image.
    pub moving_labels: Option<PathBuf>,
}

/// An image and its grid.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
            orientation: geometry::orientation(grid),
        }
    }
}

/// What a linear stage did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearRecord {
    /// Cost at the end, 0 to 1.
    pub cost: f64,
    /// Cost at the end of each level, coarse to fine.
    pub levels: Vec<LinearLevel>,
}

/// A level of a linear stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearLevel {
    /// Resolution.
    pub mm: f64,
    /// Cost at the end of the level.
    pub cost: f64,
}

impl From<&linear::Outcome> for LinearRecord {
    fn from(outcome: &linear::Outcome) -> LinearRecord {
        let levels = outcome.levels.iter().map(|&(mm, cost)| LinearLevel { mm, cost }).collect();
        LinearRecord { cost: outcome.cost, levels }
    }
}

/// What the deformable stages did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynRecord {
    /// Coarse to fine.
    pub levels: Vec<SynLevel>,
    /// Rounds that relaxing the warps took.
    pub relaxing_rounds: usize,
    /// How many times both whole warps were smoothed as the rounds did not help.
    pub whole_smoothings: usize,
    /// Voxels of both warps that fold or miss their inverse by more than the limit after the last round.
    pub beyond_limits: usize,
}

/// A level of a deformable stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynLevel {
    /// Shrink factor.
    pub shrink: usize,
    /// Iterations done.
    pub iterations: usize,
    /// Whether the energy stopped falling before the last iteration allowed.
    pub converged: bool,
    /// Whether the level was undone, as it left the images no more similar.
    pub undone: bool,
    /// Energy of each iteration.
    pub energies: Vec<f64>,
}

impl SynRecord {
    /// Of a registration; `None` without a deformable stage.
    pub fn of(found: &Registration) -> Option<SynRecord> {
        let syn::Relaxed { rounds, whole, beyond } = found.relaxed?;
        let levels = found.levels().map(|level| SynLevel {
            shrink: level.shrink,
            iterations: level.energies.len(),
            converged: level.converged,
            undone: level.undone,
            energies: level.energies.clone(),
        });
        let levels = levels.collect();
        Some(SynRecord { levels, relaxing_rounds: rounds, whole_smoothings: whole, beyond_limits: beyond })
    }
}

/// Jacobian determinants of both warps, affine excluded, where the fixed mask counts or everywhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JacobianRecord {
    /// Of `1Warp`.
    pub warp: JacobianSummary,
    /// Of `1InverseWarp`.
    pub inverse_warp: JacobianSummary,
    /// How nearly the two undo each other, the warp acting first.
    pub warp_then_inverse: Consistency,
    /// The same, the inverse warp acting first.
    pub inverse_then_warp: Consistency,
}

impl From<&syn::Scores> for JacobianRecord {
    fn from(scores: &syn::Scores) -> JacobianRecord {
        let syn::Scores { warp, inverse_warp, warp_then_inverse, inverse_then_warp } = *scores;
        JacobianRecord {
            warp: warp.into(),
            inverse_warp: inverse_warp.into(),
            warp_then_inverse: warp_then_inverse.into(),
            inverse_then_warp: inverse_then_warp.into(),
        }
    }
}

/// The Jacobian determinants of a warp.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct JacobianSummary {
    /// Voxels that count.
    pub voxels: u64,
    /// Smallest determinant.
    pub minimum: f64,
    /// Largest determinant.
    pub maximum: f64,
    /// Mean determinant.
    pub mean: f64,
    /// Voxels whose determinant is not positive.
    pub folded: u64,
    /// Their share, 0 to 1.
    pub folded_share: f64,
    /// Smallest determinant by one-sided differences: at a corner of a trilinear cell.
    pub corner_minimum: f64,
    /// Voxels where any of those is not positive: the strict count of folds.
    pub corner_folded: u64,
}

impl From<antsreg_core::JacobianSummary> for JacobianSummary {
    fn from(summary: antsreg_core::JacobianSummary) -> JacobianSummary {
        let antsreg_core::JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded } =
            summary;
        let folded_share = summary.folded_share();
        JacobianSummary { voxels, minimum, maximum, mean, folded, folded_share, corner_minimum, corner_folded }
    }
}

impl std::fmt::Display for JacobianSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded, .. } = self;
        write!(
            f,
            "{minimum:.4} to {maximum:.4}, mean {mean:.4}, {folded} of {voxels} voxels folded; at corners from \
             {corner_minimum:.4}, {corner_folded} folded"
        )
    }
}

/// Inverse consistency of a warp and its inverse: distances of points after both from where they started.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Consistency {
    /// Mean distance of points from where they started, after both, voxels.
    pub mean_voxels: f64,
    /// Largest distance, voxels.
    pub largest_voxels: f64,
}

impl From<InverseConsistency> for Consistency {
    fn from(found: InverseConsistency) -> Consistency {
        Consistency { mean_voxels: found.mean_voxels, largest_voxels: found.largest_voxels }
    }
}

impl std::fmt::Display for Consistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mean {:.4}, largest {:.4} voxels from where points started", self.mean_voxels, self.largest_voxels)
    }
}

/// Overlap of fixed labels and resampled moving labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

/// Memory of a GPU, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// What the registration was expected to take.
    pub planned_bytes: u64,
    /// What was free before it.
    pub free_bytes: u64,
    /// What it took: the driver's pool keeps what is freed, so the difference at the end is the peak.
    pub taken_bytes: Option<u64>,
}

/// Wall times, seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading and checking, and waiting for a GPU.
    pub read: f64,
    /// Getting a GPU ready, while files are read.
    pub device: Option<f64>,
    /// Linear stages.
    pub linear: Option<f64>,
    /// Deformable stages.
    pub syn: Option<f64>,
    /// Warped images, labels and writing.
    pub outputs: f64,
    /// Everything up to this record.
    pub total: f64,
}

impl Seconds {
    /// Adds the parts of a registration.
    pub fn add(&mut self, found: &Registration) {
        let register::Seconds { stages, download, images } = &found.seconds;
        for (outcome, seconds) in found.outcomes.iter().zip(stages) {
            let part = match outcome {
                register::StageOutcome::Linear(_) => &mut self.linear,
                register::StageOutcome::Deformable(_) => &mut self.syn,
            };
            *part = Some(part.unwrap_or(0.0) + seconds);
        }
        if let Some(syn) = &mut self.syn {
            *syn += download;
        }
        self.outputs += images;
    }

    /// The sum of all parts.
    pub fn sum(&self) -> f64 {
        self.read + self.linear.unwrap_or(0.0) + self.syn.unwrap_or(0.0) + self.outputs
    }
}
