//! The options of `atlas` and of its steps, as typed.

use std::path::PathBuf;

use antsreg_cohort::template::Averaging;

use crate::devices::Devices;
use crate::interpolation::ImageInterpolation;
use crate::register::{Format, Settings};
use crate::values;

/// Build an unbiased template of many subjects.
///
/// Every pass registers all subjects to the present template, averages them, and moves the average to the mean of their
/// shapes (as ANTs' multivariate template construction does). Run again after an interruption, the same command goes on
/// where it was stopped.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    pub step: Option<Step>,

    /// Subjects: images (NIfTI), several channels of one subject joined by commas; tables (.csv) with the columns image and,
    /// if wanted, subject and labels; or BIDS folders
    #[arg(value_name = "SUBJECT", required = true, help_heading = "Input")]
    pub subjects: Vec<PathBuf>,
    /// Names of the channels: columns of tables, suffixes of BIDS files [default: image; for BIDS T1w]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Input")]
    pub channels: Vec<String>,
    /// How much each channel counts in the registrations [default: all the same]
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = values::weight, help_heading = "Input")]
    pub weights: Vec<f64>,
    /// Label maps of the subjects, in their order: the template gets labels and probability maps
    #[arg(long, value_name = "IMAGE", num_args = 1.., help_heading = "Input")]
    pub labels: Vec<PathBuf>,

    /// Folder for everything that is made; new, or that of a run to go on with
    #[arg(short, long, value_name = "FOLDER", required = true, help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Format of the images and warps handed out; steps in between are kept as they are, .nii
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Take a folder of another run, with other subjects or options: what does not fit is made again
    #[arg(long, help_heading = "Output")]
    pub restart: bool,
    /// Write the plan and the first template, and stop: the steps are then run one by one, on as many machines as you like
    #[arg(long, help_heading = "Output")]
    pub plan_only: bool,

    /// Start from this image, several channels joined by commas [default: the average of all subjects after an affine
    /// registration to the first]
    #[arg(long, value_name = "IMAGE", help_heading = "Template", conflicts_with = "start_from")]
    pub template: Option<PathBuf>,
    /// Start from one of the subjects, by its name
    #[arg(long, value_name = "SUBJECT", help_heading = "Template")]
    pub start_from: Option<String>,
    /// Most passes; may be raised when a run is taken up again
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = values::at_least_one, help_heading = "Template")]
    pub passes: usize,
    /// Share of the mean warp that the template goes towards the mean shape, four times a pass
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, value_parser = values::not_negative, help_heading = "Template")]
    pub shape_step: f64,
    /// Sharpen every average by its Laplacian, as ANTs does
    #[arg(long, help_heading = "Template")]
    pub sharpen: bool,
    /// End before the last pass once the template moves less than this on the average, voxels; 0: never
    #[arg(long, value_name = "VOXELS", default_value_t = 0.02, value_parser = values::not_negative, help_heading = "Template")]
    pub stop_below: f64,
    /// Room around the first subject's brain or head where the template is made from it, mm
    #[arg(long, value_name = "MM", default_value_t = 10.0, value_parser = values::not_negative, help_heading = "Template")]
    pub margin: f64,
    /// What becomes of the subjects' values at a voxel
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Template")]
    pub average: Average,
    /// How the subjects are read between voxels
    #[arg(short = 'n', long, value_enum, default_value = "sinc", value_name = "HOW", help_heading = "Template")]
    pub interpolation: ImageInterpolation,

    #[command(flatten)]
    pub settings: Settings,
}

/// What becomes of the subjects' values at a voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Average {
    /// Their mean
    #[default]
    Mean,
    /// Their mean without the smallest and the largest, of at least four
    Trimmed,
}

impl From<Average> for Averaging {
    fn from(typed: Average) -> Averaging {
        match typed {
            Average::Mean => Averaging::Mean,
            Average::Trimmed => Averaging::Trimmed,
        }
    }
}

impl Args {
    /// How many of the first GPUs can be used, where that is known before the driver starts.
    pub fn first_gpus(&self) -> Option<usize> {
        match &self.step {
            None => self.settings.device.first_gpus(false),
            Some(Step::RegisterOne(step)) => step.device.first_gpus(true),
            Some(Step::Update(step)) => step.device.first_gpus(true),
            Some(Step::Finish(step)) => step.device.first_gpus(false),
            Some(Step::Average(_) | Step::Verify(_)) => None,
        }
    }
}

/// One step of a planned atlas, for engines that run many.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Step {
    /// Register one subject to the template of the pass before, and bring it there
    RegisterOne(RegisterOne),
    /// Average what a pass has registered: images, warps, affine stretches
    Average(OfPass),
    /// Move the average of a pass to the mean shape: the template of this pass
    Update(Update),
    /// Hand out the template of the last pass, every subject's transforms, labels and the report
    Finish(Finish),
    /// Check that every file is as the manifests say
    Verify(Verify),
}

/// Register one subject to the template of the pass before, and bring it there.
#[derive(Debug, Clone, clap::Args)]
pub struct RegisterOne {
    /// Folder of the atlas
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Which pass; 0 is the affine one before the first
    #[arg(long, value_name = "N")]
    pub pass: usize,
    /// Which subject, by its name
    #[arg(long, value_name = "NAME")]
    pub subject: String,
    /// Device that computes: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// A step of a whole pass.
#[derive(Debug, Clone, clap::Args)]
pub struct OfPass {
    /// Folder of the atlas
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Which pass; 0 is the affine one before the first
    #[arg(long, value_name = "N")]
    pub pass: usize,
}

/// Move the average of a pass to the mean shape.
#[derive(Debug, Clone, clap::Args)]
pub struct Update {
    /// Folder of the atlas
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Which pass; 0 is the affine one before the first
    #[arg(long, value_name = "N")]
    pub pass: usize,
    /// Device that computes: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// Hand out the template of the last pass.
#[derive(Debug, Clone, clap::Args)]
pub struct Finish {
    /// Folder of the atlas
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Device that computes, or several: auto, cpu, cuda, cuda:N,N… or cuda:all
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// Check the files.
#[derive(Debug, Clone, clap::Args)]
pub struct Verify {
    /// Folder of the atlas
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

const AFTER: &str = "\
Output, in FOLDER:
  template.nii.gz                 the template; one for each channel: template_CHANNEL.nii.gz
  template_labels.nii.gz          its labels, and probabilities/LABEL.nii.gz, where subjects have labels
  subjects/NAME_0GenericAffine.mat, NAME_1Warp.nii.gz, NAME_1InverseWarp.nii.gz, NAME_Warped.nii.gz
  report.html, convergence.csv    what every pass did, with slices of the template and of each subject
  atlas.json                      the plan: subjects, options, versions, digests
  start/, pass_N/                 all that a pass made, with a manifest of each step
  record.json                     devices and times

Exit code: 3 if a subject could not be read and was left out; the template is then of the others.

Examples:
  antsreg-gpu atlas -o study/atlas subjects/*_t1.nii.gz
  antsreg-gpu atlas -o study/atlas subjects.csv --channels t1,t2 --weights 1,0.5 --device cuda:all
  antsreg-gpu atlas -o study/atlas bids/ --plan-only
  antsreg-gpu atlas register-one study/atlas --pass 1 --subject sub-01";
