//! `labels`: carry labels to another image, from one atlas or from several, and score them against its own.

mod atlas;
mod given;
mod leave_one_out;
mod one;
mod options;
mod plot;
mod propagate;
mod record;
mod scores;

use std::path::PathBuf;

use self::atlas::AtlasSource;
use self::options::FusionArgs;
pub use self::plot::PlotError;
use crate::error::{CliError, UsageError};
use crate::interpolation::LabelInterpolation;
use crate::progress::Console;
use crate::register::{Format, Settings};
use crate::values::{self, TransformFile};

/// Carry labels to another image and score them against its own.
///
/// Either registers the two images first (-f, -m and the options of `register`, whose files are written too), or takes
/// transforms that exist already (--apply), or registers several atlases and fuses what they say (--atlas).
///
/// Writes PREFIXLabels.nii.gz; with --target also PREFIXoverlap.csv, and prints the table.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER, group = clap::ArgGroup::new("registered").args(["moving", "atlas"]),
    group = clap::ArgGroup::new("scored").args(["target", "leave_one_out"]).multiple(true))]
pub struct Args {
    /// Label map to carry (NIfTI), of the moving image
    #[arg(
        short,
        long,
        value_name = "IMAGE",
        help_heading = "Labels",
        required_unless_present = "atlas",
        conflicts_with = "atlas"
    )]
    labels: Option<PathBuf>,
    /// Label map taken for the truth (NIfTI), of the fixed image
    #[arg(short = 'g', long, value_name = "IMAGE", help_heading = "Labels")]
    target: Option<PathBuf>,
    /// Labels that count in the overlap: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Labels", requires = "scored")]
    label_list: Option<String>,
    /// Start of all output names, folder included
    #[arg(short, long, value_name = "PREFIX", value_parser = values::prefix, help_heading = "Labels")]
    output: String,
    /// How the labels are read between voxels
    #[arg(short = 'n', long, value_enum, default_value_t, value_name = "HOW", help_heading = "Labels")]
    interpolation: LabelInterpolation,
    /// Format of images and warps
    #[arg(long, value_enum, default_value_t, help_heading = "Labels")]
    format: Format,

    /// Transform that exists already, as for `apply -t`; may be repeated
    #[arg(long, value_name = "TRANSFORM", help_heading = "With given transforms",
        required_unless_present = "registered", conflicts_with_all = ["registered", "dry_run", "Settings"])]
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

    /// Image that stays where it is (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "registered")]
    fixed: Option<PathBuf>,
    /// Image that is brought to it (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "With a registration", requires = "fixed")]
    moving: Option<PathBuf>,
    /// Print what would be done and the memory it would take, then stop
    #[arg(long, help_heading = "With a registration", requires = "moving", conflicts_with = "atlas")]
    dry_run: bool,

    /// An atlas: its image and its label map. May be repeated. Or a table .csv with a header line and the columns image,
    /// labels and, if wanted, subject and mask; paths are relative to the table
    #[arg(short, long, value_name = "IMAGE=LABELS", help_heading = "With several atlases")]
    atlas: Vec<AtlasSource>,
    /// Score the atlases: label each of them by the others and compare the best of these alone, majority vote and joint
    /// fusion. Takes no --fixed
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with_all = ["fixed", "target"])]
    leave_one_out: bool,
    /// Do without atlases that cannot be used, and exit with 3 once the rest is done [default: stop at the first]
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with = "labels")]
    keep_going: bool,
    /// Also write what brings each atlas over: PREFIXNAME_0GenericAffine.mat and PREFIXNAME_1Warp, and PREFIXNAME_Warped,
    /// PREFIXNAME_Labels, what it brings
    #[arg(long, help_heading = "With several atlases", requires = "atlas", conflicts_with_all = ["leave_one_out", "labels"])]
    keep_transforms: bool,
    #[command(flatten)]
    fusion: FusionArgs,

    #[command(flatten)]
    settings: Settings,
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

impl Args {
    /// How many of the first GPUs can be used, where that is known before the driver starts.
    pub fn first_gpus(&self) -> Option<usize> {
        self.settings.device.first_gpus(self.atlas.is_empty())
    }
}

/// Runs `labels`.
pub fn run(mut args: Args, console: &mut Console) -> Result<(), CliError> {
    if args.leave_one_out {
        return leave_one_out::run(&args, console);
    }
    if !args.atlas.is_empty() {
        return one::run(&args, console);
    }
    let Some(labels) = args.labels.take() else {
        return Err(UsageError::Missing { option: "--labels", why: "to have labels to carry" }.into());
    };
    match (args.fixed.take(), args.moving.take()) {
        (Some(fixed), Some(moving)) => given::registered(args, labels, fixed, moving, console),
        _ => given::carried(&args, &labels, console),
    }
}
