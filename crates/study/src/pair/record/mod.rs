//! `PREFIXrecord.json`: inputs, parameters, results and times of a registration.

mod inputs;
mod resources;
mod results;

use std::path::PathBuf;

use antsreg_kernels::apply::LabelInterpolation;
use antsreg_register::verdict::Verdict;
use antsreg_register::{Coverage, Description, Options, Similarity, Warning};
use serde::{Deserialize, Serialize};

use super::files::{PairFiles, StartFile, Writing};
use super::head::HeadRecord;
use super::inputs::FixedInputs;
use super::white::WhiteMatterRecord;
use crate::bias::Corrected;
use crate::skulls::{BrainChoice, ExtractedRecord};
use crate::{FileIdentity, WrittenFile};

pub use inputs::{ImageRecord, InputsRecord, LesionRecord};
pub use resources::{DeviceMemory, Seconds};
pub use results::{JacobianRecord, LinearLevel, LinearRecord, OverlapRecord, SynLevel, SynRecord};

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
