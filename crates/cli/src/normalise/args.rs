//! The command-line options of `normalise`, and their conversion to a request.

use std::path::PathBuf;

use antsreg_console::{CliError, UsageError};
use antsreg_pool::GpuUse;
use antsreg_register::Interpolation;
use antsreg_study::normalise::{self, Output, Request, Shard, Space};
use antsreg_study::subjects;

use crate::options::RegistrationArgs;
use crate::values;

/// Normalise raw scans of heads to a template.
///
/// The shading of each scan is removed (N4), its brain is extracted, and the brain is registered to the brain of the
/// template. A scan without a skull is recognised and registered as it is. The outputs are derivatives with names as
/// in BIDS. An HTML page for each scan and a page for all scans help to judge the results.
///
/// A scan that fails is named with its reason, and the others are completed; the exit code is then 3.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER, group = clap::ArgGroup::new("place").args(["output", "prefix"]).required(true))]
pub struct Args {
    /// Scans, usually T1-weighted: BIDS folders; images, further images of the same head joined by commas; or
    /// tables (.csv) with the columns image and, if wanted, subject, mask (of the brain) and lesion
    #[arg(value_name = "SCAN", required = true, help_heading = "Input")]
    pub scans: Vec<PathBuf>,
    /// Further images of each head, which are registered rigidly to the scan: suffixes in BIDS folders, columns of
    /// tables [default: T2w,FLAIR of BIDS folders, if they exist]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Input")]
    also: Vec<String>,
    /// Lesion of a single scan: a mask on its grid. No stage compares its voxels above 0.5, and the warp is carried in
    /// smoothly. May be repeated. Of several scans, lesions stand in the column lesion of tables, and in BIDS folders
    /// beside the scan as *_label-lesion_roi or *_desc-lesion_mask
    #[arg(long = "lesion", value_name = "IMAGE", help_heading = "Input")]
    lesions: Vec<PathBuf>,
    /// Do not remove the shading, for scans that have none
    #[arg(long, help_heading = "Input")]
    no_bias: bool,
    /// Template: an image of a brain or of a head. The brain of a head is extracted unless --template-mask is given
    /// [default: the head of MNI152NLin2009cAsym at 2 mm, built in]
    #[arg(short = 'f', long, value_name = "IMAGE", help_heading = "Template")]
    template: Option<PathBuf>,
    /// Mask of the template's brain, on the template's grid: voxels above 0.5
    #[arg(long, value_name = "IMAGE", requires = "template", help_heading = "Template")]
    template_mask: Option<PathBuf>,
    /// Name of the template's space in file names [default: MNI152NLin2009cAsym, or the name of the template's file]
    #[arg(long, value_name = "NAME", requires = "template", value_parser = values::label, help_heading = "Template")]
    space: Option<String>,

    /// Folder for a dataset of BIDS derivatives, made if it does not exist
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Start of all output names, folder included: for a single scan, in place of a dataset
    #[arg(long, value_name = "PREFIX", value_parser = values::prefix, help_heading = "Output")]
    prefix: Option<String>,
    /// Skip scans whose files exist already, made from the same inputs with the same parameters
    #[arg(long, help_heading = "Output")]
    pub resume: bool,
    /// Process only the Kth of N parts of the scans, for workflow engines; a last call with --resume then writes the
    /// summary table and the HTML page of all scans
    #[arg(long, value_name = "K/N", conflicts_with = "prefix", help_heading = "Output")]
    pub shard: Option<Shard>,
    /// Do not write the HTML pages about the results
    #[arg(long, help_heading = "Output")]
    no_report: bool,
    /// Interpolation of the images
    #[arg(short = 'n', long, value_enum, default_value_t, value_name = "HOW", help_heading = "Output")]
    interpolation: Interpolation,
    /// Print the plan and the memory needed, and stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    /// Number of scans at a time on each device [default: 5 on a GPU, 1 on the processor]
    #[arg(long, value_name = "N", value_parser = values::workers, help_heading = "Registration")]
    pub workers: Option<usize>,
    #[command(flatten)]
    pub registration: RegistrationArgs,
}

const AFTER: &str = "\
Output, in FOLDER/sub-LABEL[/ses-LABEL]/anat, each name after sub-LABEL and the other entities of the scan:
  desc-preproc_T1w.nii.gz                the head without its shading
  desc-brain_mask.nii.gz                 its brain
  space-SPACE_desc-preproc_T1w.nii.gz    the head in the template's space
  space-SPACE_desc-brain_mask.nii.gz     its brain there
  from-T1w_to-SPACE_mode-image_xfm.h5    what brings images of the head to the template (ITK), and the reverse
  desc-preproc_T2w.nii.gz and so on      further images on the grid of the scan, and in the template's space
and in FOLDER:
  sub-LABEL.html                         a page of pictures and figures to judge a scan's result by
  report.html, summary.csv               all scans: small pictures, outliers, room for verdicts; figures
  logs/sub-LABEL_record.json             parameters, versions, times, figures
With --prefix the same files are PREFIXdesc-preproc_T1w.nii.gz and so on, PREFIXreport.html and PREFIXrecord.json.

Exit code: 3 if scans failed and all others are done.

Examples:
  antsreg-gpu normalise study/ -o study/derivatives/antsreg --device cuda:all
  antsreg-gpu normalise sub-01_T1w.nii.gz --prefix out/sub-01_
  antsreg-gpu normalise t1.nii.gz,flair.nii.gz -f template.nii.gz --template-mask brain.nii.gz --prefix out/a_
  antsreg-gpu normalise study/ -o out --shard 1/3
  antsreg-gpu normalise study/ -o out --resume";

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        let is_one = self.scans.len() == 1 && subjects::is_image(&self.scans[0]);
        self.registration.device.gpu_use(is_one)
    }

    /// Converts the command-line options to a request: the scans to normalise, the template and all settings. An option
    /// without effect is an error.
    pub fn request(&self) -> Result<Request, CliError> {
        let mut scans = normalise::list(&self.scans, &self.also)?;
        match scans.as_mut_slice() {
            [scan] => scan.lesions.extend(self.lesions.iter().cloned()),
            _ if self.lesions.is_empty() => (),
            several => {
                let with = format!("{} scans: tables have a column `lesion` for theirs", several.len());
                return Err(UsageError::NoEffect { option: "--lesion", with }.into());
            }
        }
        if !self.also.is_empty() && self.scans.iter().all(|source| subjects::is_image(source)) {
            let with = "scans given as images: only tables and BIDS folders name further images".into();
            return Err(UsageError::NoEffect { option: "--also", with }.into());
        }
        let recipe = self.registration.recipe_for_many()?;
        self.registration.check_metrics(&recipe)?;
        let output = match (&self.output, &self.prefix) {
            (Some(folder), _) => Output::Dataset(folder.clone()),
            (None, prefix) => Output::Prefix(prefix.clone().unwrap_or_default()),
        };
        Ok(Request {
            scans,
            shard: self.shard,
            output,
            space: Space::new(self.template.clone(), self.template_mask.clone(), self.space.clone()),
            bias: !self.no_bias,
            recipe,
            start: self.registration.start(),
            interpolation: self.interpolation,
            page: self.report(),
        })
    }

    /// Whether HTML pages about the results are written.
    pub fn report(&self) -> bool {
        !self.no_report
    }
}
