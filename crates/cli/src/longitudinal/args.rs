//! The command-line options of `longitudinal`.

use std::path::PathBuf;

use antsreg_console::CliError;
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;
use antsreg_study::longitudinal::{Brains, Options, Request, time_points};

/// Compare images of one person through time: a template of the person, and the changes of volume.
///
/// All time points are aligned to each other rigidly, and meet in a space half-way between them. There each is resampled once
/// and registered to the mean of the others with a smooth warp. All time points are treated alike: their order, and the
/// names of their files, change no bit of the results, and none is compared with an image of itself.
///
/// The Jacobian determinant of the warp from the template to a time point is the volume of tissue there. A brain that shrinks
/// has determinants that fall from one time point to the next. Where time points have label maps, the volume of each label is
/// measured in all time points.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Time points of one person: images of one contrast; tables (.csv) with the column image and, if wanted, subject,
    /// date, mask (of the brain) and labels; or the BIDS folder of a person (sub-01) with its sessions
    #[arg(value_name = "IMAGE", required = true, help_heading = "Input")]
    images: Vec<PathBuf>,
    /// Dates of the time points, in the order of the images: days such as 2019-03-28, or ages in years. Without dates, the
    /// time points are compared in the order of their names, and changes per year are left out
    #[arg(long, value_name = "DATE,…", value_delimiter = ',', help_heading = "Input")]
    dates: Vec<String>,
    /// Which brains are extracted before anything is compared
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", help_heading = "Input")]
    brain: Brains,
    /// Folder for all output, made if it does not exist
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    output: PathBuf,
    /// Continue a stopped run: alignments and warps that were made from the same images by the same options are taken from
    /// FOLDER/steps
    #[arg(long, help_heading = "Output")]
    resume: bool,
    /// Print the time points and the files to be written, and stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Let the alignments have a scale, which removes differences between scanners. A change of the size of the whole head,
    /// as in a child, is then removed, too
    #[arg(long, help_heading = "Registration")]
    scale: bool,
    /// Number of times that each time point is aligned to the mean of the others, after all pairs were aligned
    #[arg(long, value_name = "N", default_value_t = Options::default().rigid_passes, help_heading = "Registration",
        value_parser = passes)]
    passes: usize,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu
    #[arg(long, default_value = "auto", value_name = "DEVICE", help_heading = "Registration")]
    device: DeviceChoice,
}

/// Largest number of passes: more move nothing.
const MOST_PASSES: usize = 10;

fn passes(text: &str) -> Result<usize, String> {
    let found = text.parse().ok().filter(|passes| *passes <= MOST_PASSES);
    found.ok_or_else(|| format!("expected a whole number from 0 to {MOST_PASSES}"))
}

const AFTER: &str = "\
Output, in FOLDER:
  template.nii.gz, template_brain_mask.nii.gz    the person in the mean shape; template_labels.nii.gz, where there are labels
  NAME_0GenericAffine.mat, NAME_1Warp.nii.gz, NAME_1InverseWarp.nii.gz    from the template to a time point, as for `apply`
  NAME_Rigid.nii.gz, NAME_Warped.nii.gz    a time point on the template's grid, without and with its warp
  NAME_logJacobian.nii.gz    logarithm of the volume relative to the template: below 0 where it is smaller
  NAME_logJacobianChangePerYear.nii.gz    its change since the first time point (…Change without dates)
  volumes.csv    a row for each time point and label: volume, change in % and per year, mean log Jacobian
  record.json    inputs, options, poses, volumes, the verdict on the alignments

Examples:
  antsreg-gpu longitudinal visit1.nii.gz visit2.nii.gz --dates 2019-03-28,2021-04-02 -o out
  antsreg-gpu longitudinal visits.csv -o out --resume
  antsreg-gpu longitudinal bids/sub-01 -o out";

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Devices::One(self.device).gpu_use(true)
    }

    /// The study.
    pub fn request(&self) -> Result<Request, CliError> {
        Ok(Request {
            points: time_points(&self.images, &self.dates)?,
            folder: self.output.clone(),
            options: Options { brain: self.brain, scale: self.scale, rigid_passes: self.passes },
            resume: self.resume,
            sources: self.images.iter().filter(|source| !source.is_dir()).cloned().collect(),
            device: self.device,
        })
    }
}
