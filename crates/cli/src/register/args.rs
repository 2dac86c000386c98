//! The files of `register` and what is made of them, as typed.

use std::path::PathBuf;

use super::channels::ChannelFiles;
use super::settings::Settings;
use super::writing::WritingArgs;
use crate::interpolation::LabelInterpolation;
use crate::values;

/// Register a moving image to a fixed one.
///
/// The affine stage searches all orientations (after FLIRT) by the correlation ratio or another cost; mi and nmi match any
/// two modalities. The diffeomorphic stage maximises windowed cross-correlation or mutual information symmetrically (SyN, after
/// ANTs).
///
/// Files of those names that exist are replaced; they appear together when everything is done.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Image that stays where it is (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    pub fixed: PathBuf,
    /// Image that is brought to it (NIfTI)
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    pub moving: PathBuf,
    // Not a doc comment: rustdoc would take the brackets for links.
    #[arg(
        long = "channel",
        value_name = "PAIR",
        help_heading = "Input",
        help = "A further pair of images that drives \
        SyN, aligned with the first: FIXED,MOVING[,METRIC[,WEIGHT]]; may be repeated. Each image may have a grid of its own. \
        METRIC: as --metric, which is the default. WEIGHT: the pair's share of each step, above 0; the first pair has 1, and \
        so have others by default. The affine stage looks at the first pair alone"
    )]
    pub channels: Vec<ChannelFiles>,
    /// Fixed voxels that count: above 0.5, on the grid of the fixed image. Affine stage: weight of the voxel. SyN: the
    /// metrics count where both masks do
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    pub fixed_mask: Option<PathBuf>,
    /// Moving voxels that count, on the grid of the moving image; as the fixed mask
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    pub moving_mask: Option<PathBuf>,
    /// Label map of the fixed image; with --moving-labels, their overlap after registration is printed and recorded
    #[arg(long, value_name = "IMAGE", help_heading = "Input", requires = "moving_labels")]
    pub fixed_labels: Option<PathBuf>,
    /// Label map of the moving image, to be carried to the fixed image (written as PREFIXLabels)
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    pub moving_labels: Option<PathBuf>,
    /// Labels that count in the overlap: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Input", requires = "fixed_labels")]
    pub label_list: Option<String>,

    /// Start of all output names, folder included: PREFIX0GenericAffine.mat and so on
    #[arg(short, long, value_name = "PREFIX", value_parser = values::prefix, help_heading = "Output")]
    pub output: String,
    #[command(flatten)]
    pub writing: WritingArgs,
    /// How the moving labels are read between voxels
    #[arg(
        long,
        value_enum,
        default_value_t,
        help_heading = "Output",
        value_name = "HOW",
        requires = "moving_labels"
    )]
    pub label_interpolation: LabelInterpolation,
    /// Print what would be done and the memory it would take, then stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Time every kernel of the GPU and compare it with the copy bandwidth of the device; printed and recorded
    #[arg(long, help_heading = "Output")]
    pub profile: bool,

    #[command(flatten)]
    pub settings: Settings,
}

const AFTER: &str = "\
Output:
  PREFIX0GenericAffine.mat        affine, fixed to moving points (ITK)
  PREFIX1Warp.nii.gz              displacement before the affine (ITK), with syn
  PREFIX1InverseWarp.nii.gz       its inverse
  PREFIXWarped.nii.gz             moving image on the fixed grid
  PREFIXInverseWarped.nii.gz      fixed image on the moving grid
  PREFIXLabels.nii.gz             moving labels on the fixed grid, with --moving-labels
  PREFIXoverlap.csv               overlap per label, with --fixed-labels too
  PREFIXrecord.json               parameters, versions, times, energies, overlap, Jacobian

Examples:
  antsreg-gpu register -f template.nii.gz -m subject.nii.gz -o out/subject_
  antsreg-gpu register -f template.nii.gz -m subject.nii.gz -o out/subject_ -t rigid
  antsreg-gpu register -f t1.nii.gz -m flair.nii.gz -o out/flair_ --metric mattes
  antsreg-gpu register -f t1.nii.gz -m subject_t1.nii.gz --channel t2.nii.gz,subject_t2.nii.gz -o out/subject_
  antsreg-gpu apply -i subject.nii.gz -r template.nii.gz -o warped.nii.gz \\
      -t out/subject_1Warp.nii.gz -t out/subject_0GenericAffine.mat";
