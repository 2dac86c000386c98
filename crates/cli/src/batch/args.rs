//! The command-line options of `batch`, and their conversion to a registration of each subject.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, UsageError};
use antsreg_kernels::apply::LabelInterpolation;
use antsreg_pool::GpuUse;
use antsreg_register::option::name;
use antsreg_register::syn::Channel;
use antsreg_study::batch::{Job, Study};
use antsreg_study::bias::Corrected;
use antsreg_study::pair::{ChannelFiles, Labels, Names, PairFiles};
use antsreg_study::skulls::BrainChoice;
use antsreg_study::subjects::{self, Listing, Subject};

use crate::options::{RegistrationArgs, WritingArgs};
use crate::values;

/// Register many subjects to one fixed image.
///
/// Each subject is registered as by `register`: the same options give the same bytes in the files. But the fixed
/// image is prepared once, and subjects are read and written while others are computed.
///
/// A subject that fails is named with its reason, and the others are completed; the exit code is then 3.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Subjects: images, several channels of one subject joined by commas; tables (.csv) with the columns image and,
    /// if wanted, subject, mask, labels and lesion; or BIDS folders
    #[arg(value_name = "SUBJECT", required = true, help_heading = "Input")]
    pub subjects: Vec<PathBuf>,
    /// Fixed image, to which all subjects are registered; several channels joined by commas. The affine stage uses the first channel alone
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    fixed: PathBuf,
    /// Names of the channels, which are columns of tables or suffixes of BIDS files [default: image; for BIDS T1w]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Input")]
    channels: Vec<String>,
    /// Weight of each channel in SyN [default: equal weights]
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = values::weight, help_heading = "Input")]
    weights: Vec<f64>,
    /// Mask of the fixed image, as for `register`
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    fixed_mask: Option<PathBuf>,
    /// Lesion of the fixed image, as for `register`. Lesions of the subjects stand in the column lesion of tables (several
    /// joined by commas), and in BIDS folders beside their image as *_label-lesion_roi or *_desc-lesion_mask
    #[arg(long = "fixed-lesion", value_name = "IMAGE", help_heading = "Input")]
    fixed_lesions: Vec<PathBuf>,
    /// Images whose shading is removed (N4, as `bias` does by default) before the registration; the written images
    /// are without shading, too. The moving images are the subjects [default: none; moving for --bias without a value]
    #[arg(long, value_enum, value_name = "SIDES", num_args = 0..=1, require_equals = true, default_value_t,
        hide_default_value = true, default_missing_value = "moving", help_heading = "Input")]
    bias: Corrected,
    /// Images whose brain is extracted and registered in place of the whole head; the written images show the whole
    /// head. The brain of the fixed image is extracted once for all subjects
    #[arg(long, value_enum, default_value_t, value_name = "SIDES", help_heading = "Input")]
    brain: BrainChoice,
    /// Label map of the fixed image. For each subject with labels, the overlap of its labels with this map is
    /// recorded
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    fixed_labels: Option<PathBuf>,
    /// Labels whose overlap is computed: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Input", requires = "fixed_labels")]
    label_list: Option<String>,

    /// Folder for all output, made if it does not exist
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub output: PathBuf,
    /// Skip subjects whose files exist already, made from the same inputs with the same parameters
    #[arg(long, help_heading = "Output")]
    pub resume: bool,
    #[command(flatten)]
    writing: WritingArgs,
    /// Do not write the HTML pages about the results
    #[arg(long, help_heading = "Output")]
    no_report: bool,
    /// Interpolation of the subjects' labels [default: generic-label]
    #[arg(long, value_enum, help_heading = "Output", value_name = "HOW")]
    label_interpolation: Option<LabelInterpolation>,
    /// Print the plan and the memory needed, and stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    /// Number of registrations at a time on each device [default: 5 on a GPU, 1 on the processor]
    #[arg(long, value_name = "N", value_parser = values::workers, help_heading = "Registration")]
    pub workers: Option<usize>,
    #[command(flatten)]
    pub registration: RegistrationArgs,
}

const AFTER: &str = "\
Output:
  FOLDER/SUBJECT_0GenericAffine.mat and so on, as `register -o FOLDER/SUBJECT_` writes them
  FOLDER/SUBJECT_report.html    a page of pictures and figures to judge a subject's result by
  FOLDER/report.html    a page of all subjects: table, small pictures, outliers, fields for verdicts
  FOLDER/summary.csv    a row a subject: status and reason, seconds, cost, energies, overlap, Jacobian, files

Exit code: 3 if subjects failed and all others are done.

Examples:
  antsreg-gpu batch -f template.nii.gz -o out sub-*_T1w.nii.gz --device cuda:all
  antsreg-gpu batch -f template.nii.gz -o out study/ --format nii --resume
  antsreg-gpu batch -f template_t1.nii.gz,template_t2.nii.gz --channels t1,t2 --weights 1,0.5 -o out subjects.csv
  antsreg-gpu batch -f template.nii.gz --fixed-labels template_labels.nii.gz -o out subjects.csv";

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        self.registration.device.gpu_use(false)
    }

    /// Makes the study (the registrations of many subjects to one fixed image) from the options. An option without
    /// effect is an error.
    pub fn study(&self) -> Result<Study, CliError> {
        let Listing { subjects, channels } = self.listing()?;
        let mut recipe = self.registration.recipe_for_many()?;
        let metric = recipe.syn.channels[0].metric;
        // The weights of the channels (the images of one subject) are relative to the weight of the first channel.
        let weight = |n: usize| self.weights.get(n).map_or(1.0, |weight| weight / self.weights[0]);
        recipe.syn.channels.extend((1..channels.len()).map(|n| Channel { metric, weight: weight(n) }));
        if channels.len() > 1 && !recipe.model.is_deformable() {
            let with = format!("--transform {}", name(&recipe.model));
            return Err(UsageError::NoEffect { option: "several channels", with }.into());
        }
        self.registration.check_metrics(&recipe)?;
        self.writing.request(&mut recipe);
        let job = |subject: Subject| {
            let (name, files) = (subject.name.clone(), self.files(subject));
            let names = Names::new(&files, recipe.model.is_deformable());
            Job { name, files, names }
        };
        let jobs: Vec<Job> = subjects.into_iter().map(job).collect();
        let masked = jobs.iter().any(|job| job.files.masked());
        let nobody = Subject { images: vec![PathBuf::new(); channels.len()], ..Subject::default() };
        let labels = Labels { fixed: self.fixed_labels.clone(), list: self.label_list.clone(), ..Labels::default() };
        let shared = PairFiles { labels, ..self.files(nobody) };
        Ok(Study { shared, recipe, jobs, masked })
    }

    /// The list of subjects, with the names of their channels.
    fn listing(&self) -> Result<Listing, CliError> {
        let no_effect = |option, with: &str| Err(UsageError::NoEffect { option, with: with.into() }.into());
        let listing = subjects::list(&self.subjects, &self.channels)?;
        if !self.channels.is_empty() && self.subjects.iter().all(|source| subjects::is_image(source)) {
            return no_effect("--channels", "subjects given as images: only tables and BIDS folders name channels");
        }
        let expected = listing.channels.len();
        let counts = [("--fixed", self.fixed_files().len(), true), ("--weights", self.weights.len(), false)];
        for (of, found, _) in counts.into_iter().filter(|(_, found, needed)| *needed || *found > 0) {
            if found != expected {
                return Err(subjects::Error::Channels { of: of.into(), expected, found }.into());
            }
        }
        let labels = [
            ("--fixed-labels", self.fixed_labels.is_some()),
            ("--label-interpolation", self.label_interpolation.is_some()),
        ];
        if let Some((option, _)) = labels.into_iter().find(|(_, given)| *given)
            && listing.subjects.iter().all(|subject| subject.labels.is_none())
        {
            return no_effect(option, "subjects without label maps (tables have a column `labels` for them)");
        }
        Ok(listing)
    }

    /// Paths of the fixed images, one for each channel.
    fn fixed_files(&self) -> Vec<PathBuf> {
        subjects::channels_of(&self.fixed)
    }

    /// Paths of all inputs and outputs of a subject's registration.
    fn files(&self, subject: Subject) -> PairFiles {
        let mut fixed = self.fixed_files().into_iter();
        let prefix = prefix(&self.output, &subject.name);
        let mut moving = subject.images.into_iter();
        let (first_fixed, first_moving) = (fixed.next().unwrap_or_default(), moving.next().unwrap_or_default());
        // The overlap with the labels of the fixed image is computed only if the subject has a label map.
        let scored = subject.labels.is_some();
        PairFiles {
            fixed: first_fixed,
            moving: first_moving,
            channels: fixed.zip(moving).map(|(fixed, moving)| ChannelFiles { fixed, moving }).collect(),
            fixed_mask: self.fixed_mask.clone(),
            white_matter: None,
            moving_mask: subject.mask,
            fixed_lesions: self.fixed_lesions.clone(),
            moving_lesions: subject.lesions,
            carried: Vec::new(),
            bias: self.bias,
            labels: Labels {
                fixed: self.fixed_labels.clone().filter(|_| scored),
                moving: subject.labels,
                list: self.label_list.clone().filter(|_| scored),
                interpolation: self.label_interpolation.unwrap_or_default(),
            },
            start: self.registration.start(),
            brain: self.brain,
            report: (!self.no_report).then(|| PairFiles::usual_report(&prefix)),
            prefix,
            writing: self.writing.writing(),
        }
    }

    /// Whether HTML pages about the results are written.
    pub fn report(&self) -> bool {
        !self.no_report
    }
}

/// The start of the names of all files of a subject.
fn prefix(folder: &Path, name: &str) -> String {
    format!("{}_", folder.join(name).display())
}
