//! `PREFIXrecord.json`: inputs, parameters, results and times of a registration.

use std::path::{Path, PathBuf};

use antsreg_core::Grid;
use antsreg_core::overlap::Overlap;
use antsreg_kernels::InverseConsistency;
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::verdict::Verdict;
use antsreg_register::{
    self as register, Coverage, Description, Options, Registration, Side, Similarity, Warning, linear, syn,
};
use serde::{Deserialize, Serialize};

use super::files::{PairFiles, StartFile, Writing};
use super::head::HeadRecord;
use super::inputs::FixedInputs;
use super::white::WhiteMatterRecord;
use crate::bias::Corrected;
use crate::skulls::{BrainChoice, ExtractedRecord};
use crate::{FileIdentity, WrittenFile, geometry, inputs};

/// The record of a registration, stored as `PREFIXrecord.json`: inputs, options, results, times and outputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Name of the program.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The command line of the program, for information only.
    pub command_line: Vec<String>,
    /// The device on which the registration was computed.
    pub device: Description,
    /// Number of threads that computed.
    pub threads: usize,
    /// The input files that were read, with the grids of the images.
    pub inputs: InputsRecord,
    /// Parameters of the registration, with all defaults filled in.
    pub parameters: Parameters,
    /// Results of the last linear stage.
    pub linear: Option<LinearRecord>,
    /// Results of the deformable stages.
    pub syn: Option<SynRecord>,
    /// Affine transform of the result, fixed → moving, RAS mm, row by row.
    pub affine_ras: [[f64; 4]; 3],
    /// Jacobian determinants and inverse consistency of the warps.
    pub jacobian: Option<JacobianRecord>,
    /// Correlation of the fixed and the warped moving image.
    pub similarity: Similarity,
    /// Share of the fixed image that the moving image covers.
    pub coverage: Coverage,
    /// Whether the result is right, with the reasons and the measures; `None` if it was not judged.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// All warnings about the registration and its result, as sentences.
    pub warnings: Vec<String>,
    /// Warnings about the registration and its result as data, so that programs can read them.
    #[serde(alias = "doubts")]
    pub warning_values: Vec<Warning>,
    /// The moving head, if a raw scan was registered to a template (normalisation): results of its brain extraction,
    /// and other images that were resampled with the scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadRecord>,
    /// Overlap of the resampled moving labels with the fixed labels.
    pub overlap: Option<OverlapRecord>,
    /// Wall times of the parts of the registration.
    pub seconds: Seconds,
    /// Peak main memory of the process, bytes; `None` if the system does not report it.
    pub peak_memory_bytes: Option<usize>,
    /// Memory on the GPU; `None` on the CPU.
    pub device_memory: Option<DeviceMemory>,
    /// Time of each kernel of a GPU, if they were timed.
    pub profile: Option<serde_json::Value>,
    /// Paths of all output files, including the JSON file of this record.
    pub outputs: Vec<PathBuf>,
    /// Identities (size, time, inode) of the input files at the time when they were read.
    pub files_read: Vec<FileIdentity>,
    /// The output files with their sizes, without the JSON file of this record.
    pub files_written: Vec<WrittenFile>,
    /// The displacements of the warps are rounded to multiples of this step, mm; `None` if rounding was turned off,
    /// or if any rounding would fold a warp.
    #[serde(default)]
    pub displacements_rounded_to_mm: Option<f64>,
    /// The brains that were extracted from the fixed and the moving image, and registered instead of the whole heads.
    #[serde(default)]
    pub brains: [Option<ExtractedRecord>; 2],
    /// The white matter that was found in the fixed image, because no segmentation was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_matter: Option<WhiteMatterRecord>,
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
    /// Images and warps that were written, and their format.
    pub writing: Writing,
    /// Interpolation of the moving labels.
    pub label_interpolation: LabelInterpolation,
    /// Labels for which the overlap of moving and fixed labels is computed; `None` for all labels except 0.
    pub label_list: Option<Vec<i32>>,
    /// The option that selects the images whose brain is extracted before the registration.
    #[serde(default)]
    pub brain: BrainChoice,
}

impl Record {
    /// The warnings about brains and white matter. In [`warnings`](Record::warnings) they come before those of
    /// [`warning_values`](Record::warning_values).
    pub fn warnings_of_heads(&self) -> &[String] {
        &self.warnings[..self.warnings.len().saturating_sub(self.warning_values.len())]
    }
}

impl Parameters {
    /// Makes the parameters in the JSON record of a registration: from its files, its fixed inputs and its options.
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

/// The input files that were read, with the grids of the images.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputsRecord {
    /// The fixed image.
    pub fixed: ImageRecord,
    /// The moving image.
    pub moving: ImageRecord,
    /// Fixed and moving image of each channel except the first.
    pub channels: Vec<[ImageRecord; 2]>,
    /// Mask of the fixed image.
    pub fixed_mask: Option<PathBuf>,
    /// White matter mask of the fixed image, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_matter: Option<PathBuf>,
    /// Mask of the moving image.
    pub moving_mask: Option<PathBuf>,
    /// Lesions of the fixed image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_lesion: Option<LesionRecord>,
    /// Lesions of the moving image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving_lesion: Option<LesionRecord>,
    /// Labels of the fixed image.
    pub fixed_labels: Option<PathBuf>,
    /// Labels of the moving image.
    pub moving_labels: Option<PathBuf>,
}

impl InputsRecord {
    /// Volume of the lesions of both images, cm³; `None` without a lesion.
    pub fn lesions_cm3(&self) -> Option<f64> {
        let volumes = [&self.fixed_lesion, &self.moving_lesion].into_iter().flatten().map(|lesion| lesion.volume_cm3);
        volumes.reduce(|all, volume| all + volume)
    }
}

/// Lesions of an image: tissue that no stage compares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LesionRecord {
    /// The masks.
    pub paths: Vec<PathBuf>,
    /// Volume of the voxels in any of the masks, cm³.
    pub volume_cm3: f64,
}

impl LesionRecord {
    /// Describes the lesions of a side (fixed or moving) with its masks; `None` without a lesion.
    pub fn of(paths: &[PathBuf], side: &Side) -> Option<LesionRecord> {
        let lesion = side.lesion.as_ref()?;
        Some(LesionRecord { paths: paths.to_vec(), volume_cm3: inputs::mask_cm3(lesion) })
    }
}

/// An image as the JSON record of a registration describes it: path and grid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImageRecord {
    /// The file.
    pub path: PathBuf,
    /// Number of voxels along each axis of the image.
    pub shape: [usize; 3],
    /// Distance between voxel centres, mm.
    pub spacing_mm: [f64; 3],
    /// Directions of the voxel axes as letters, such as RAS.
    pub orientation: String,
}

impl ImageRecord {
    /// Describes the image in the file `path` for a JSON record: path, shape, voxel size and orientation.
    pub fn new(path: &Path, grid: &Grid) -> ImageRecord {
        ImageRecord {
            path: path.into(),
            shape: grid.shape,
            spacing_mm: grid.spacing.into(),
            orientation: geometry::orientation(grid),
        }
    }
}

/// Results of a linear stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearRecord {
    /// Cost of the linear stage at its end, 0 to 1.
    pub cost: f64,
    /// Whether the search took the moving image as the fixed one and inverted its result. The costs in `levels` are then
    /// those of the inverse, from the moving to the fixed image.
    #[serde(default)]
    pub exchanged: bool,
    /// Cost of the linear stage at the end of each level, coarse to fine.
    pub levels: Vec<LinearLevel>,
}

/// Result of a level of a linear stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinearLevel {
    /// Resolution of this level of the registration, mm.
    pub mm: f64,
    /// Cost of the linear stage at the end of this level.
    pub cost: f64,
}

impl From<&linear::Outcome> for LinearRecord {
    fn from(outcome: &linear::Outcome) -> LinearRecord {
        let levels = outcome.levels.iter().map(|&(mm, cost)| LinearLevel { mm, cost }).collect();
        LinearRecord { cost: outcome.cost, exchanged: outcome.exchanged, levels }
    }
}

/// Results of the deformable stages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynRecord {
    /// The levels of all deformable stages, coarse to fine.
    pub levels: Vec<SynLevel>,
    /// Number of rounds of relaxation, which removes folds and makes both warps inverse to each other.
    pub relaxing_rounds: usize,
    /// Number of times that the warp and the inverse warp were smoothed at all voxels, because the rounds of relaxation
    /// did not remove all folds and inconsistencies.
    pub whole_smoothings: usize,
    /// Number of voxels of both warps with an error after the last round of relaxation: voxels that fold, or where warp
    /// and inverse warp together move a point too far.
    pub beyond_limits: usize,
}

/// Result of a level of a deformable stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SynLevel {
    /// Shrink factor.
    pub shrink: usize,
    /// Number of iterations done.
    pub iterations: usize,
    /// Whether the iterations of the level ended because the energy no longer fell, before the largest allowed number
    /// of iterations.
    pub converged: bool,
    /// Whether the level's result was discarded, because the images had not become more similar.
    pub undone: bool,
    /// Energy (the value that the deformable stage minimises) of each iteration in this level.
    pub energies: Vec<f64>,
}

impl SynRecord {
    /// Results of the deformable stages of a registration; `None` without a deformable stage.
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

/// Jacobian determinants and inverse consistency of both warps without the affine, within the fixed mask if there is
/// one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JacobianRecord {
    /// Jacobian determinants of the warp, the file `1Warp`.
    pub warp: JacobianSummary,
    /// Jacobian determinants of the inverse warp, the file `1InverseWarp`.
    pub inverse_warp: JacobianSummary,
    /// Inverse consistency of points moved by the warp, then by the inverse warp.
    pub warp_then_inverse: Consistency,
    /// Inverse consistency of points moved by the inverse warp, then by the warp.
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
    /// Number of voxels at which the Jacobian determinant was computed.
    pub voxels: u64,
    /// Smallest determinant.
    pub minimum: f64,
    /// Largest determinant.
    pub maximum: f64,
    /// Mean determinant.
    pub mean: f64,
    /// Number of voxels whose Jacobian determinant is not positive.
    pub folded: u64,
    /// Share of voxels whose Jacobian determinant is not positive, 0 to 1.
    pub folded_share: f64,
    /// Smallest Jacobian determinant from one-sided differences, which is the determinant at a corner of a trilinear
    /// cell.
    pub corner_minimum: f64,
    /// Number of voxels where a Jacobian determinant from one-sided differences is not positive: the strict count of
    /// folds.
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
            "{minimum:.4} to {maximum:.4}, mean {mean:.4}, {folded} of {voxels} voxels folded; smallest at \
             cell corners {corner_minimum:.4}, {corner_folded} voxels folded at cell corners"
        )
    }
}

/// Inverse consistency of a warp and its inverse: distances between points and their positions after both warps.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Consistency {
    /// Mean distance between points and their positions after both warps, voxels.
    pub mean_voxels: f64,
    /// Largest distance between a point and its position after both warps, voxels.
    pub largest_voxels: f64,
}

impl From<InverseConsistency> for Consistency {
    fn from(found: InverseConsistency) -> Consistency {
        Consistency { mean_voxels: found.mean_voxels, largest_voxels: found.largest_voxels }
    }
}

impl std::fmt::Display for Consistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "mean {:.4}, largest {:.4} voxels between points and their positions after both warps",
            self.mean_voxels, self.largest_voxels
        )
    }
}

/// Overlap of fixed labels and resampled moving labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OverlapRecord {
    /// Number of labels for which the overlap was computed.
    pub labels: usize,
    /// Jaccard index, mean over the labels.
    pub mean_jaccard: f64,
    /// Dice coefficient, mean over the labels.
    pub mean_dice: f64,
    /// Total Jaccard index: sum of intersections over sum of unions.
    pub total_jaccard: f64,
    /// Total Dice coefficient: twice the sum of intersections over the sum of volumes.
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
    /// Memory of the GPU that the registration was expected to take.
    pub planned_bytes: u64,
    /// Free memory of the GPU before the registration.
    pub free_bytes: u64,
    /// Largest memory of the GPU that the registration took: free memory before the registration less free memory after
    /// it. This difference is the peak, because the driver's memory pool keeps memory that the registration frees.
    pub taken_bytes: Option<u64>,
}

/// Wall times of the parts of a registration, seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Time of reading and checking the inputs, and of waiting for a GPU.
    pub read: f64,
    /// Time of preparing a GPU; files are read at the same time.
    pub device: Option<f64>,
    /// Time of the linear stages.
    pub linear: Option<f64>,
    /// Time of the deformable stages.
    pub syn: Option<f64>,
    /// Time of warping images and labels, of compressing, and of writing.
    pub outputs: f64,
    /// Total time of the run until this record is written.
    pub total: f64,
}

impl Seconds {
    /// Adds the times of a registration to this record: the time of each stage to the linear or the deformable stages,
    /// and the time of warping images to the outputs.
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

    /// The sum of the times of reading the inputs, of the stages, and of writing the outputs.
    pub fn sum(&self) -> f64 {
        self.read + self.linear.unwrap_or(0.0) + self.syn.unwrap_or(0.0) + self.outputs
    }
}
