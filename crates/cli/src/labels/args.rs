//! The command-line options of the verb `labels`. They are converted to one of its tasks: registration, existing
//! transforms, or several atlases.

use std::path::PathBuf;

use antsreg_console::{UsageError, command_line::command_line};
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_pool::GpuUse;
use antsreg_register::Recipe;
use antsreg_study::bias::Corrected;
use antsreg_study::labels::{AtlasSource, Carrying, Fusion, LabelOptions, TargetFiles};
use antsreg_study::pair::{Format, Labels, PairFiles, Request, Writing};
use antsreg_study::skulls::BrainChoice;
use antsreg_study::transforms::TransformFile;

use super::fusion::FusionArgs;
use crate::options::{RegistrationArgs, ReportArgs, WritingArgs};
use crate::values;

/// Transfer labels to another image, and compare them with true labels.
///
/// Registers the two images first (-f, -m and the options of `register`, whose files are written too), or applies
/// existing transforms (--apply), or registers several atlases and fuses their labels (--atlas).
///
/// Writes PREFIXLabels.nii.gz; with --target also PREFIXoverlap.csv, and prints the table.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER, group = clap::ArgGroup::new("registered").args(["moving", "atlas"]),
    group = clap::ArgGroup::new("scored").args(["target", "leave_one_out"]).multiple(true))]
pub struct Args {
    /// Label map of the moving image, to be transferred
    #[arg(
        short,
        long,
        value_name = "IMAGE",
        help_heading = "Labels",
        required_unless_present = "atlas",
        conflicts_with = "atlas"
    )]
    labels: Option<PathBuf>,
    /// True label map, of the fixed image
    #[arg(short = 'g', long, value_name = "IMAGE", help_heading = "Labels")]
    target: Option<PathBuf>,
    /// Labels whose overlap is computed: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Labels", requires = "scored")]
    pub label_list: Option<String>,
    /// Start of all output names, folder included
    #[arg(short, long, value_name = "PREFIX", value_parser = values::prefix, help_heading = "Labels")]
    pub output: String,
    /// Interpolation of the labels
    #[arg(short = 'n', long, value_enum, default_value_t, value_name = "HOW", help_heading = "Labels")]
    interpolation: LabelInterpolation,
    /// Format of images and warps
    #[arg(long, value_enum, default_value_t, help_heading = "Labels")]
    pub format: Format,

    /// Existing transform, as for `apply -t`; may be repeated
    #[arg(long, value_name = "TRANSFORM", help_heading = "With given transforms",
        required_unless_present = "registered",
        conflicts_with_all = [
            "registered", "dry_run", "transform", "preset", "initial_transform", "device", "StageArgs",
        ])]
    apply: Vec<TransformFile>,
    /// Image whose grid the labels get [default: that of --target]
    #[arg(
        short,
        long,
        value_name = "IMAGE",
        help_heading = "With given transforms",
        requires = "apply",
        conflicts_with = "registered"
    )]
    reference: Option<PathBuf>,

    /// Fixed image: results are on its grid
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "registered")]
    fixed: Option<PathBuf>,
    /// Moving image: it is aligned to the fixed image
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "fixed")]
    moving: Option<PathBuf>,
    /// Remove the shading of all images (N4, as `bias` does by default) before they are registered
    #[arg(long, help_heading = "Labels", conflicts_with = "apply")]
    bias: bool,
    /// Images whose brain is extracted and registered in place of the whole head. With --atlas, the moving images are
    /// the atlases. With auto, the brains of all heads are extracted if any image shows a brain alone
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "SIDES",
        help_heading = "Labels",
        requires = "registered",
        conflicts_with = "apply"
    )]
    brain: BrainChoice,
    #[command(flatten)]
    report: ReportArgs,
    /// Print the plan and the memory needed, and stop
    #[arg(long, help_heading = "With a registration", requires = "moving", conflicts_with = "atlas")]
    pub dry_run: bool,

    /// An atlas: its image and its label map; may be repeated. Or a table (.csv) with a header line and the columns
    /// image, labels and, if wanted, subject and mask; paths are relative to the table
    #[arg(short, long, value_name = "IMAGE=LABELS", help_heading = "With several atlases")]
    pub atlas: Vec<AtlasSource>,
    /// Score the atlases: label the image of each atlas by the other atlases, and compare the best single atlas,
    /// majority vote and joint fusion. Not with --fixed
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with_all = ["fixed", "target"])]
    leave_one_out: bool,
    /// Leave out atlases that cannot be used, and exit with code 3 at the end [default: stop at the first such atlas]
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with = "labels")]
    pub keep_going: bool,
    /// Also write the transforms of each atlas, PREFIXNAME_0GenericAffine.mat and PREFIXNAME_1Warp, and its image and labels on
    /// the target's grid, PREFIXNAME_Warped and PREFIXNAME_Labels
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with_all = ["leave_one_out", "labels"])]
    keep_transforms: bool,
    #[command(flatten)]
    fusion: FusionArgs,

    #[command(flatten)]
    pub registration: RegistrationArgs,
}

const AFTER: &str = "\
Output with --leave-one-out:
  PREFIXNAME_Labels.nii.gz, PREFIXNAME_MajorityLabels.nii.gz   labels of each image by joint fusion and by majority vote
  PREFIXjaccard.csv     Jaccard and Dice of every target, method and label
  PREFIXsummary.csv     mean Jaccard of every target: best single atlas, majority, joint; also printed
  PREFIXjaccard.svg     the same as a picture

Examples:
  antsreg-gpu labels -f target.nii.gz -m atlas.nii.gz -l atlas_labels.nii.gz -g target_labels.nii.gz -o out/atlas_
  antsreg-gpu labels --apply p1Warp.nii.gz --apply p0GenericAffine.mat -l atlas_labels.nii.gz \\
      -r target.nii.gz -o out/atlas_
  antsreg-gpu labels -f target.nii.gz -a a.nii.gz=a_labels.nii.gz -a b.nii.gz=b_labels.nii.gz \\
      -o out/target_
  antsreg-gpu labels --leave-one-out -a atlases.csv -o out/score_";

/// What the subcommand `labels` has to do, as its command-line options describe.
pub enum Task {
    /// Registers two images and resamples one label map.
    Pair(Box<Request>),
    /// Resamples one label map through existing transforms.
    Carry(Carrying),
    /// Labels an image by several atlases. Without an image, labels each atlas by the others and compares the result
    /// with the labels of this atlas.
    Atlases(Box<LabelOptions>, Option<TargetFiles>),
}

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        self.registration.device.gpu_use(self.atlas.is_empty())
    }

    /// Makes the task of the verb `labels` from the command-line options. An option without effect is an error.
    pub fn task(&self) -> Result<Task, UsageError> {
        if self.leave_one_out {
            return Ok(Task::Atlases(Box::new(self.options(self.fusion.joint())?), None));
        }
        if !self.atlas.is_empty() {
            let why = "the atlases need an image to label, unless --leave-one-out is given";
            let image = self.fixed.clone().ok_or(UsageError::Missing { option: "--fixed", why })?;
            let target = TargetFiles {
                image,
                truth: self.target.clone(),
                keep_transforms: self.keep_transforms,
                posteriors: self.fusion.posteriors,
            };
            return Ok(Task::Atlases(Box::new(self.options(self.fusion.resolve()?)?), Some(target)));
        }
        let missing = UsageError::Missing { option: "--labels", why: "there are no labels to transfer" };
        let labels = self.labels.clone().ok_or(missing)?;
        match (&self.fixed, &self.moving) {
            (Some(fixed), Some(moving)) => {
                Ok(Task::Pair(Box::new(self.job(labels, fixed.clone(), moving.clone())?)))
            }
            _ => Ok(Task::Carry(self.carrying(labels)?)),
        }
    }

    /// The path of the HTML page about the transferred labels; `None` if no page is wanted.
    pub fn page(&self) -> Option<PathBuf> {
        self.report.path(|| PairFiles::usual_report(&self.output))
    }

    /// Makes the inputs and settings of a registration that also resamples the labels of its moving image.
    fn job(&self, labels: PathBuf, fixed: PathBuf, moving: PathBuf) -> Result<Request, UsageError> {
        let written = WritingArgs::default();
        let recipe = self.registration.recipe()?;
        self.registration.check_metrics(&recipe)?;
        let recipe = Recipe { images: Some(written.images()), inverse_warp: true, ..recipe };
        let labels = Labels {
            fixed: self.target.clone(),
            moving: Some(labels),
            list: self.label_list.clone(),
            interpolation: self.interpolation,
        };
        let files = PairFiles {
            fixed,
            moving,
            channels: Vec::new(),
            fixed_mask: None,
            white_matter: None,
            moving_mask: None,
            fixed_lesions: Vec::new(),
            moving_lesions: Vec::new(),
            carried: Vec::new(),
            bias: if self.bias { Corrected::Both } else { Corrected::None },
            labels,
            start: self.registration.start(),
            brain: self.brain,
            prefix: self.output.clone(),
            writing: Writing { format: self.format, ..written.writing() },
            report: self.page(),
        };
        let device = self.registration.one_device()?;
        Ok(Request { files, recipe, device, profile: false })
    }

    /// Makes the task of resampling the label map through existing transforms.
    fn carrying(&self, labels: PathBuf) -> Result<Carrying, UsageError> {
        let why = "the labels are resampled on the grid of this image";
        let missing = UsageError::Missing { option: "--reference or --target", why };
        Ok(Carrying {
            labels,
            transforms: self.apply.clone(),
            onto: self.reference.clone().or(self.target.clone()).ok_or(missing)?,
            truth: self.target.clone(),
            label_list: self.label_list.clone(),
            interpolation: self.interpolation,
            prefix: self.output.clone(),
            format: self.format,
            page: self.page(),
            command_line: command_line(),
        })
    }

    /// Returns the options for registering the atlases to the target image and fusing their labels.
    fn options(&self, fusion: Fusion) -> Result<LabelOptions, UsageError> {
        let recipe = self.registration.recipe_for_many()?;
        self.registration.check_metrics(&recipe)?;
        let start = self.registration.start();
        let (bias, brain) = (self.bias, self.brain);
        Ok(LabelOptions { recipe, start, bias, brain, interpolation: self.interpolation, fusion })
    }
}
