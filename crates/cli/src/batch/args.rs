//! The options of `batch`, as typed, and the registration that they amount to for each subject.

use std::path::{Path, PathBuf};

use crate::error::{CliError, SubjectsError, UsageError};
use crate::interpolation::LabelInterpolation;
use crate::register::{self, ChannelFiles, Settings, WritingArgs};
use crate::values;
use antsreg_study::subjects::{self, Listing, Subject};

/// Normalise many subjects to one fixed image.
///
/// Each subject is registered as `register` does it, with the same options and the same bytes in the files, but the fixed
/// image is prepared once, and subjects are read and written while others are computed.
///
/// A subject that fails is named with its reason and the others are done; the exit code is then 3.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Subjects: images (NIfTI), several channels of one subject joined by commas; tables (.csv) with the columns image and,
    /// if wanted, subject, mask and labels; or BIDS folders
    #[arg(value_name = "SUBJECT", required = true, help_heading = "Input")]
    pub subjects: Vec<PathBuf>,
    /// Image to which all are brought (NIfTI); several channels joined by commas. The first one drives the affine stage
    #[arg(short, long, value_name = "IMAGE", help_heading = "Input")]
    pub fixed: PathBuf,
    /// Names of the channels: columns of tables, suffixes of BIDS files [default: image; for BIDS T1w]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Input")]
    pub channels: Vec<String>,
    /// How much each channel counts in SyN [default: all the same]
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = values::weight, help_heading = "Input")]
    pub weights: Vec<f64>,
    /// Fixed voxels that count, as for `register`
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    pub fixed_mask: Option<PathBuf>,
    /// Label map of the fixed image: the overlap with it of each subject that has labels is recorded
    #[arg(long, value_name = "IMAGE", help_heading = "Input")]
    pub fixed_labels: Option<PathBuf>,
    /// Labels that count in the overlap: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", help_heading = "Input", requires = "fixed_labels")]
    pub label_list: Option<String>,

    /// Folder for all output, made if it does not exist
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub output: PathBuf,
    /// Leave out subjects whose files are all there, made of the same files by the same parameters
    #[arg(long, help_heading = "Output")]
    pub resume: bool,
    #[command(flatten)]
    pub writing: WritingArgs,
    /// How the subjects' labels are read between voxels [default: generic-label]
    #[arg(long, value_enum, help_heading = "Output", value_name = "HOW")]
    pub label_interpolation: Option<LabelInterpolation>,
    /// Print what would be done and the memory it would take, then stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    /// Registrations at a time on each device [default: 3 on a GPU, 1 on the processor]
    #[arg(long, value_name = "N", value_parser = values::workers, help_heading = "Registration")]
    pub workers: Option<usize>,
    #[command(flatten)]
    pub settings: Settings,
}

const AFTER: &str = "\
Output:
  FOLDER/SUBJECT_0GenericAffine.mat and so on, as `register -o FOLDER/SUBJECT_` writes them
  FOLDER/summary.csv    a row a subject: status and reason, seconds, cost, energies, overlap, Jacobian, files

Exit code: 3 if subjects failed and all others are done.

Examples:
  antsreg-gpu batch -f template.nii.gz -o out sub-*_T1w.nii.gz --device cuda:all
  antsreg-gpu batch -f template.nii.gz -o out study/ --format nii --resume
  antsreg-gpu batch -f template_t1.nii.gz,template_t2.nii.gz --channels t1,t2 --weights 1,0.5 -o out subjects.csv
  antsreg-gpu batch -f template.nii.gz --fixed-labels template_labels.nii.gz -o out subjects.csv";

impl Args {
    /// The subjects, and for each the registration; refuses options that would do nothing.
    pub fn jobs(&self) -> Result<Vec<(Subject, register::Args)>, CliError> {
        let no_effect = |option, with: &str| Err(UsageError::NoEffect { option, with: with.into() }.into());
        let Listing { subjects, channels } = subjects::list(&self.subjects, &self.channels)?;
        if !self.channels.is_empty() && self.subjects.iter().all(|source| subjects::is_image(source)) {
            return no_effect("--channels", "subjects that are neither in a table nor in a folder");
        }
        let counts = [("--fixed", self.fixed_files().len()), ("--weights", self.weights.len())];
        for (of, found) in counts.into_iter().filter(|(of, found)| *of == "--fixed" || *found > 0) {
            if found != channels.len() {
                return Err(SubjectsError::Channels { of: of.into(), expected: channels.len(), found }.into());
            }
        }
        let labels = [
            ("--fixed-labels", self.fixed_labels.is_some()),
            ("--label-interpolation", self.label_interpolation.is_some()),
        ];
        if let Some((option, _)) = labels.into_iter().find(|(_, given)| *given)
            && subjects.iter().all(|subject| subject.labels.is_none())
        {
            return no_effect(option, "subjects without labels, which are a column of a table");
        }
        Ok(subjects.into_iter().map(|subject| (subject.clone(), self.of(subject))).collect())
    }

    /// The fixed images, one a channel.
    fn fixed_files(&self) -> Vec<PathBuf> {
        subjects::channels_of(&self.fixed)
    }

    /// The fixed image of the first channel.
    pub fn first_fixed(&self) -> PathBuf {
        self.fixed_files().swap_remove(0)
    }

    /// What `register` would be told for a subject.
    fn of(&self, subject: Subject) -> register::Args {
        let fixed = self.fixed_files();
        // The first pair's weight is 1 there.
        let weight = |n: usize| self.weights.get(n).map_or(1.0, |weight| weight / self.weights[0]);
        let further = fixed.iter().cloned().zip(subject.images.iter().cloned()).enumerate().skip(1);
        let further =
            further.map(|(n, (fixed, moving))| ChannelFiles { fixed, moving, metric: None, weight: weight(n) });
        // Without a label map of its own there is nothing to score.
        let scored = subject.labels.is_some();
        register::Args {
            channels: further.collect(),
            fixed: self.first_fixed(),
            moving: subject.images.into_iter().next().unwrap_or_default(),
            fixed_mask: self.fixed_mask.clone(),
            moving_mask: subject.mask,
            fixed_labels: self.fixed_labels.clone().filter(|_| scored),
            moving_labels: subject.labels,
            label_list: self.label_list.clone().filter(|_| scored),
            output: prefix(&self.output, &subject.name),
            writing: self.writing.clone(),
            label_interpolation: self.label_interpolation.unwrap_or_default(),
            dry_run: false,
            profile: false,
            settings: self.settings.clone(),
        }
    }

    /// What all registrations share.
    pub fn shared(&self) -> register::Args {
        let images = vec![PathBuf::new(); self.fixed_files().len()];
        let nobody = Subject { name: String::new(), images, mask: None, labels: None };
        let (fixed_labels, label_list) = (self.fixed_labels.clone(), self.label_list.clone());
        register::Args { fixed_labels, label_list, ..self.of(nobody) }
    }

    /// The table of all subjects.
    pub fn summary(&self) -> PathBuf {
        self.output.join("summary.csv")
    }
}

/// What a subject's file names begin with.
fn prefix(folder: &Path, name: &str) -> String {
    format!("{}_", folder.join(name).display())
}
