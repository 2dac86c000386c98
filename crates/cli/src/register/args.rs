//! The command-line options of `register`, which registers two images, and the files that the options name.

use std::path::PathBuf;
use std::str::FromStr;

use antsreg_console::UsageError;
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_pool::GpuUse;
use antsreg_register::option::name;
use antsreg_register::syn::{Channel, Metric};
use antsreg_study::bias::Corrected;
use antsreg_study::pair::{ChannelFiles, Labels, PairFiles, Request};
use antsreg_study::skulls::BrainChoice;
use clap::ValueEnum;

use crate::options::{RegistrationArgs, ReportArgs, WritingArgs};
use crate::values::{self, ValueError};

/// Register a moving image to a fixed image.
///
/// The affine stage searches all orientations (after FLIRT) by the correlation ratio or another cost; mi and nmi
/// match any two modalities. The diffeomorphic stage maximises windowed cross-correlation or mutual information
/// symmetrically (SyN, after ANTs).
///
/// Existing files with the names of outputs are replaced. All outputs appear together when everything is done.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Fixed image: results are on its grid
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    fixed: PathBuf,
    /// Moving image: it is aligned to the fixed image
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    moving: PathBuf,
    // The help text of this option is no doc comment, because rustdoc would read its brackets as links.
    #[arg(
        long = "channel",
        value_name = "PAIR",
        help_heading = "Input",
        help = "A further pair of images for SyN, \
        aligned with the first pair: FIXED,MOVING[,METRIC[,WEIGHT]]; may be repeated. Each image may have a grid of its own. \
        METRIC: cc or mattes; by default that of --metric. WEIGHT: relative weight of the pair, above 0; the first pair has \
        weight 1, which is the default. The affine stage uses the first pair alone"
    )]
    channels: Vec<ChannelArg>,
    /// Mask on the grid of the fixed image: voxels above 0.5 count. The affine stage weights voxels by their masks. SyN's
    /// metrics count voxels that count in both masks
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    fixed_mask: Option<PathBuf>,
    /// White matter of the fixed image, for --cost bbr: a mask, or an image of tissue fractions, of which values
    /// above 0.5 count. It may have any grid [default: found in the fixed image, which must be T1-weighted]
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    white_matter: Option<PathBuf>,
    /// Mask on the grid of the moving image, used like the fixed mask
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    moving_mask: Option<PathBuf>,
    /// Lesion of the moving image, which usually is the patient's: a mask on its grid, of which voxels above 0.5 count.
    /// No stage compares these voxels, and the warp is carried in smoothly from the tissue around. May be repeated
    #[arg(long = "moving-lesion", visible_alias = "lesion", value_name = "IMAGE", help_heading = "Input")]
    moving_lesions: Vec<PathBuf>,
    /// Lesion of the fixed image, used like that of the moving image. May be repeated
    #[arg(long = "fixed-lesion", value_name = "IMAGE", help_heading = "Input")]
    fixed_lesions: Vec<PathBuf>,
    /// Images whose shading is removed (N4, as `bias` does by default) before the registration; the written images
    /// are without shading, too [default: none; both for --bias without a value]
    #[arg(long, value_enum, value_name = "SIDES", num_args = 0..=1, require_equals = true, default_value_t,
        hide_default_value = true, default_missing_value = "both", help_heading = "Input")]
    bias: Corrected,
    /// Images whose brain is extracted and registered in place of the whole head; the written images show the whole
    /// head
    #[arg(long, value_enum, default_value_t, value_name = "SIDES", help_heading = "Input")]
    brain: BrainChoice,
    /// Label map of the fixed image; with --moving-labels, their overlap after registration is printed and recorded
    #[arg(long, value_name = "IMAGE", help_heading = "Input", requires = "moving_labels")]
    fixed_labels: Option<PathBuf>,
    /// Label map of the moving image, which is resampled on the fixed grid (written as PREFIXLabels)
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    moving_labels: Option<PathBuf>,
    /// Labels whose overlap is computed: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Input", requires = "fixed_labels")]
    label_list: Option<String>,

    /// Start of all output names, folder included: PREFIX0GenericAffine.mat and so on
    #[arg(short, long, value_name = "PREFIX", value_parser = values::prefix, help_heading = "Output")]
    output: String,
    #[command(flatten)]
    writing: WritingArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Interpolation of the moving labels
    #[arg(
        long,
        value_enum,
        default_value_t,
        help_heading = "Output",
        value_name = "HOW",
        requires = "moving_labels"
    )]
    label_interpolation: LabelInterpolation,
    /// Print the plan and the memory needed, and stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Measure the time of every GPU kernel, and compare its bandwidth with the copy bandwidth of the device; printed
    /// and recorded
    #[arg(long, help_heading = "Output")]
    profile: bool,

    #[command(flatten)]
    registration: RegistrationArgs,
}

const AFTER: &str = "\
Output:
  PREFIX0GenericAffine.mat        affine, fixed to moving points (ITK)
  PREFIX1Warp.nii.gz              displacement before the affine (ITK), with syn
  PREFIX1InverseWarp.nii.gz       its inverse
  PREFIXComposite.h5              with --composite, instead of these: affine and warp in one file (ITK)
  PREFIXInverseComposite.h5       their inverses, in one file
  PREFIXWarped.nii.gz             moving image on the fixed grid
  PREFIXInverseWarped.nii.gz      fixed image on the moving grid
  PREFIXLabels.nii.gz             moving labels on the fixed grid, with --moving-labels
  PREFIXoverlap.csv               overlap per label, with --fixed-labels too
  PREFIXreport.html               with --report: a page of pictures and figures to judge the result by
  PREFIXrecord.json               parameters, versions, times, energies, overlap, Jacobian

Examples:
  antsreg-gpu register -f template.nii.gz -m subject.nii.gz -o out/subject_
  antsreg-gpu register -f template.nii.gz -m subject.nii.gz -o out/subject_ -t rigid
  antsreg-gpu register -f t1.nii.gz -m flair.nii.gz -o out/flair_ --metric mattes
  antsreg-gpu register -f t1.nii.gz -m subject_t1.nii.gz --channel t2.nii.gz,subject_t2.nii.gz -o out/subject_
  antsreg-gpu apply -i subject.nii.gz -r template.nii.gz -o warped.nii.gz \\
      -t out/subject_1Warp.nii.gz -t out/subject_0GenericAffine.mat";

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        self.registration.device.gpu_use(true)
    }

    /// Makes the registration from the options. An option without effect is an error.
    pub fn request(self) -> Result<Request, UsageError> {
        let mut recipe = self.registration.recipe()?;
        let metric = recipe.syn.channels[0].metric;
        let channels = self.channels.iter();
        let further = channels.map(|typed| Channel { metric: typed.metric.unwrap_or(metric), weight: typed.weight });
        recipe.syn.channels.extend(further);
        if !self.channels.is_empty() && !recipe.model.is_deformable() {
            let with = format!("--transform {}", name(&recipe.model));
            return Err(UsageError::NoEffect { option: "--channel", with });
        }
        self.registration.check_metrics(&recipe)?;
        let masked = [("fixed", &self.fixed_mask), ("moving", &self.moving_mask)];
        let of = [BrainChoice::Fixed, BrainChoice::Moving];
        for ((side, mask), of) in masked.into_iter().zip(of) {
            if mask.is_some() && [of, BrainChoice::Both].contains(&self.brain) {
                return Err(UsageError::NoEffect { option: "--brain", with: format!("--{side}-mask") });
            }
        }
        if recipe.linear.boundary.is_none() && self.white_matter.is_some() {
            let with = format!("--cost {}", name(&recipe.linear.cost));
            return Err(UsageError::NoEffect { option: "--white-matter", with });
        }
        self.writing.request(&mut recipe);
        let labels = Labels {
            fixed: self.fixed_labels,
            moving: self.moving_labels,
            list: self.label_list,
            interpolation: self.label_interpolation,
        };
        let files = PairFiles {
            fixed: self.fixed,
            moving: self.moving,
            channels: self.channels.into_iter().map(|typed| typed.files).collect(),
            fixed_mask: self.fixed_mask,
            white_matter: self.white_matter,
            moving_mask: self.moving_mask,
            fixed_lesions: self.fixed_lesions,
            moving_lesions: self.moving_lesions,
            carried: Vec::new(),
            bias: self.bias,
            labels,
            start: self.registration.start(),
            brain: self.brain,
            report: self.report.path(|| PairFiles::usual_report(&self.output)),
            prefix: self.output,
            writing: self.writing.writing(),
        };
        let device = self.registration.one_device()?;
        Ok(Request { files, recipe, device, profile: self.profile })
    }
}

/// Value of the option `--channel`: `FIXED,MOVING[,METRIC[,WEIGHT]]`.
#[derive(Debug, Clone, PartialEq)]
struct ChannelArg {
    files: ChannelFiles,
    /// Similarity metric of this channel (a further pair of images); `None` for the metric of the first channel.
    metric: Option<Metric>,
    /// Weight of this channel's similarity metric, relative to that of the first channel, whose weight is 1.
    weight: f64,
}

const EXPECTED: &str =
    "FIXED,MOVING, FIXED,MOVING,METRIC or FIXED,MOVING,METRIC,WEIGHT, such as T2f.nii,T2m.nii,cc,0.5";

impl FromStr for ChannelArg {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ChannelArg, ValueError> {
        let malformed = || ValueError::new(EXPECTED, text);
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let (fixed, moving, metric, weight) = match parts[..] {
            [fixed, moving] => (fixed, moving, None, None),
            [fixed, moving, metric] => (fixed, moving, Some(metric), None),
            [fixed, moving, metric, weight] => (fixed, moving, Some(metric), Some(weight)),
            _ => return Err(malformed()),
        };
        if fixed.is_empty() || moving.is_empty() {
            return Err(malformed());
        }
        let metric = metric.map(|name| {
            let expected = "the metric cc or mattes after both images";
            Metric::from_str(name, true).map_err(|_| ValueError::new(expected, name))
        });
        let weight = weight.map_or(Ok(1.0), values::weight)?;
        let files = ChannelFiles { fixed: fixed.into(), moving: moving.into() };
        Ok(ChannelArg { files, metric: metric.transpose()?, weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_two_files_a_metric_and_a_weight() {
        let read = |text: &str| text.parse::<ChannelArg>();
        let files = || ChannelFiles { fixed: "a.nii".into(), moving: "b.nii".into() };
        let channel = |metric, weight| ChannelArg { files: files(), metric, weight };
        assert_eq!(read("a.nii,b.nii"), Ok(channel(None, 1.0)));
        assert_eq!(read("a.nii, b.nii,MI"), Ok(channel(Some(Metric::Mattes), 1.0)));
        assert_eq!(read("a.nii,b.nii,CC,0.25"), Ok(channel(Some(Metric::Cc), 0.25)));
        for text in [
            "a.nii",
            "a.nii,",
            ",b.nii",
            "a,b,cc,1,2",
            "a,b,meansquares",
            "a,b,cc,0",
            "a,b,cc,-1",
            "a,b,cc,nan",
            "a,b,cc,1e99",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
