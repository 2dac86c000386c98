//! The command-line options of `template` and of its steps.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use antsreg_console::{CliError, UsageError};
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::{Interpolation, Model, Recipe};
use antsreg_study::pair::{Format, StartFile};
use antsreg_study::skulls::BrainChoice;
use antsreg_study::subjects::{self, Listing};
use antsreg_study::template::{Averaging, Request, StartImage, TemplateOptions};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::options::RegistrationArgs;

/// Build an unbiased template of many subjects.
///
/// Every pass registers all subjects to the present template, averages them, and moves the average to the mean of
/// their shapes (as ANTs' multivariate template construction does). After an interruption, the same command continues
/// where the work stopped.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(mut_arg("transform", |arg| arg.value_parser(only_syn()).help("Transform model of every pass: affine, then SyN [default: syn]")))]
pub struct Args {
    #[command(subcommand)]
    pub step: Option<Step>,

    /// Subjects: images, several channels of one subject joined by commas; tables (.csv) with the columns image and,
    /// if wanted, subject and labels; or BIDS folders
    #[arg(value_name = "SUBJECT", required = true, help_heading = "Input")]
    subjects: Vec<PathBuf>,
    /// Names of the channels, which are columns of tables or suffixes of BIDS files [default: image; for BIDS T1w]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Input")]
    channels: Vec<String>,
    /// Weight of each channel in the registrations [default: equal weights]
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = within(TemplateOptions::WEIGHT), help_heading = "Input")]
    weights: Vec<f64>,
    /// Remove the shading of the subjects' images (N4, as `bias` does by default) each time they are read
    #[arg(long, help_heading = "Input")]
    bias: bool,
    /// Images whose brain is extracted, registered and averaged in place of the whole head. The moving images are the
    /// subjects; the fixed images are those of --template. With auto, the brains of all heads are extracted if any
    /// image shows a brain alone. The output images of a subject show the whole head
    #[arg(long, value_enum, default_value_t, value_name = "SIDES", help_heading = "Input")]
    brain: BrainChoice,
    /// Label maps of the subjects, in the order of the subjects: the template gets labels and probability maps
    #[arg(long, value_name = "IMAGE", num_args = 1.., help_heading = "Input")]
    labels: Vec<PathBuf>,

    /// Folder for all outputs: new, empty, or the folder of a run to continue
    #[arg(short, long, value_name = "FOLDER", required = true, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Format of the final images and warps; those of single passes are .nii
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
    /// Use the folder of a run with other subjects or options: files that do not fit are made again
    #[arg(long, help_heading = "Output")]
    pub restart: bool,
    /// Write the plan and the first template, and stop. The steps can then be run one by one, on several machines
    #[arg(long, help_heading = "Output")]
    pub plan_only: bool,
    /// Print the names of the subjects, one per line, and stop. Workflow engines run the step register-one for each
    /// name in each pass
    #[arg(long, help_heading = "Output", conflicts_with = "plan_only")]
    pub list_subjects: bool,

    /// First template: an image, or several channels joined by commas [default: the average of all subjects after an
    /// affine registration to the first]
    #[arg(long, value_name = "IMAGE", help_heading = "Template", conflicts_with = "start_from")]
    template: Option<PathBuf>,
    /// First template: the image of this subject, given by its name
    #[arg(long, value_name = "SUBJECT", help_heading = "Template")]
    start_from: Option<String>,
    /// Largest number of passes, up to 1000; may be raised when a run is continued
    #[arg(long, value_name = "N", default_value_t = usual().passes, value_parser = within(TemplateOptions::PASSES),
        help_heading = "Template")]
    passes: usize,
    /// Share of the mean warp by which the template moves towards the mean shape, four times per pass; 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = usual().shape_step,
        value_parser = within(TemplateOptions::SHAPE_STEP), help_heading = "Template")]
    shape_step: f64,
    /// Sharpen every average by its Laplacian, as ANTs does
    #[arg(long, help_heading = "Template")]
    sharpen: bool,
    /// Stop before the last pass if the template moves by less than this on average, voxels, up to 100; 0: never stop
    /// early
    #[arg(long, value_name = "VOXELS", default_value_t = usual().stop_below_voxels,
        value_parser = within(TemplateOptions::STOP_BELOW_VOXELS), help_heading = "Template")]
    stop_below: f64,
    /// Margin around the brain or head of the first subject, if the template starts from it, mm, up to 200
    #[arg(long, value_name = "MM", default_value_t = usual().margin_mm, value_parser = within(TemplateOptions::MARGIN_MM),
        help_heading = "Template")]
    margin: f64,
    /// How the values of the subjects at a voxel are averaged
    #[arg(long, value_enum, default_value_t = usual().average, value_name = "HOW", help_heading = "Template")]
    average: Averaging,
    /// Interpolation of the subjects
    #[arg(short = 'n', long, value_enum, default_value_t = usual().interpolation, value_name = "HOW", help_heading = "Template")]
    interpolation: Interpolation,

    #[command(flatten)]
    registration: RegistrationArgs,
}

/// The default options of building a template.
fn usual() -> TemplateOptions {
    TemplateOptions::default()
}

/// Parser of the option `--transform` for building a template (`template`), which allows only the value `syn`.
fn only_syn() -> impl TypedValueParser<Value = Model> {
    PossibleValuesParser::new([PossibleValue::new("syn").alias("s")]).map(|_| Model::Syn)
}

/// Makes a parser of numbers in a range.
fn within<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: PartialOrd + std::fmt::Display + std::str::FromStr + Clone + Send + Sync + 'static,
{
    move |text| match text.trim().parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => Err(format!("expected a number from {} to {}, found {text}", range.start(), range.end())),
    }
}

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        match &self.step {
            None => self.registration.device.gpu_use(false),
            Some(Step::RegisterOne(step)) => step.device.gpu_use(true),
            Some(Step::Update(step)) => step.device.gpu_use(true),
            Some(Step::Finish(step)) => step.device.gpu_use(false),
            Some(Step::Average(_) | Step::Verify(_)) => None,
        }
    }

    /// Makes the request to build a template from the command-line options. An option without effect is an error.
    pub fn request(&self) -> Result<Request, CliError> {
        let recipe = self.recipe()?;
        if self.brain == BrainChoice::Fixed && self.template.is_none() {
            let with = "a template made from the subjects (--brain moving extracts their brains)".into();
            return Err(UsageError::NoEffect { option: "--brain fixed", with }.into());
        }
        let Some(folder) = &self.output else {
            return Err(UsageError::Missing { option: "--output", why: "the template is written to a folder" }.into());
        };
        let is_table = |source: &&PathBuf| !source.is_dir() && !subjects::is_image(source);
        Ok(Request {
            folder: folder.clone(),
            listing: self.listing()?,
            tables: self.subjects.iter().filter(is_table).cloned().collect(),
            weights: self.weights.clone(),
            start: match (&self.template, &self.start_from) {
                (Some(template), _) => StartImage::Images(subjects::channels_of(template)),
                (None, Some(name)) => StartImage::Subject(name.clone()),
                (None, None) => StartImage::Average,
            },
            recipe,
            options: TemplateOptions {
                passes: self.passes,
                shape_step: self.shape_step,
                sharpen: self.sharpen,
                stop_below_voxels: self.stop_below,
                margin_mm: self.margin,
                bias: self.bias,
                brain: self.brain,
                average: self.average,
                interpolation: self.interpolation,
            },
            format: self.format,
        })
    }

    /// The devices given on the command line.
    pub fn devices(&self) -> &Devices {
        &self.registration.device
    }

    /// The settings for registering the subjects to the template.
    fn recipe(&self) -> Result<Recipe, CliError> {
        let recipe = self.registration.recipe_for_many()?;
        self.registration.check_metrics(&recipe)?;
        let no_effect = |option, with: &str| Err(UsageError::NoEffect { option, with: with.into() }.into());
        // `--transform` allows only SyN here, but the preset may have another transform model.
        if recipe.model != Model::Syn {
            return no_effect("--transform", "the command template, which supports only the transform model syn");
        }
        match self.registration.start() {
            StartFile::File(_) => {
                no_effect("--initial-transform FILE", "several subjects, which need separate initial transforms")
            }
            start => Ok(Recipe { start: start.read()?, ..recipe }),
        }
    }

    /// The list of subjects, with their label maps.
    fn listing(&self) -> Result<Listing, CliError> {
        let mut listing = subjects::list(&self.subjects, &self.channels)?;
        if listing.subjects.iter().any(|subject| subject.mask.is_some()) {
            return Err(UsageError::NoEffect { option: "the column `mask`", with: "template".into() }.into());
        }
        if !self.labels.is_empty() {
            let (expected, found) = (listing.subjects.len(), self.labels.len());
            if found != expected {
                return Err(UsageError::Labels { expected, found }.into());
            }
            for (subject, labels) in listing.subjects.iter_mut().zip(&self.labels) {
                subject.labels = Some(labels.clone());
            }
        }
        Ok(listing)
    }
}

/// One step of a planned template, for workflow engines that run the steps one by one.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Step {
    /// Register one subject to the template of the pass before, and resample it on the template's grid
    RegisterOne(RegisterOne),
    /// Average the results of a pass: images, warps, scales and shears of the affines
    Average(OfPass),
    /// Move the average of a pass to the mean shape, which gives the template of this pass
    Update(Update),
    /// Write the final template, the transforms of every subject, labels and the report
    Finish(Finish),
    /// Check all files of a template against the checksums in its manifests
    Verify(Verify),
}

/// Register one subject to the template of the pass before, and resample it on the template's grid.
#[derive(Debug, Clone, clap::Args)]
pub struct RegisterOne {
    /// Folder of the template
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Pass of template building, counted from 0 (affine); the SyN passes follow
    #[arg(long, value_name = "N")]
    pub pass: usize,
    /// Name of the subject
    #[arg(long, value_name = "NAME")]
    pub subject: String,
    /// Device that computes: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// Command-line arguments of a step of template building that processes all subjects of one pass.
#[derive(Debug, Clone, clap::Args)]
pub struct OfPass {
    /// Folder of the template
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Pass of template building, counted from 0 (affine); the SyN passes follow
    #[arg(long, value_name = "N")]
    pub pass: usize,
}

/// Move the average of a pass to the mean shape, which gives the template of this pass.
#[derive(Debug, Clone, clap::Args)]
pub struct Update {
    /// Folder of the template
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Pass of template building, counted from 0 (affine); the SyN passes follow
    #[arg(long, value_name = "N")]
    pub pass: usize,
    /// Device that computes: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// Write the final template, the transforms of every subject, labels and the report.
#[derive(Debug, Clone, clap::Args)]
pub struct Finish {
    /// Folder of the template
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Device that computes, or several: auto, cpu, cuda, cuda:N,N… or cuda:all
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: Devices,
}

/// Check all files of a template against the checksums in its manifests.
#[derive(Debug, Clone, clap::Args)]
pub struct Verify {
    /// Folder of the template
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

const AFTER: &str = "\
Output, in FOLDER:
  template.nii.gz                 the template; one for each channel: template_CHANNEL.nii.gz
  template_labels.nii.gz          its labels, and probabilities/LABEL.nii.gz, where subjects have labels
  subjects/NAME_0GenericAffine.mat, NAME_1Warp.nii.gz, NAME_1InverseWarp.nii.gz, NAME_Warped.nii.gz
  report.html, convergence.csv    figures of every pass; the page also has pictures of the template and of each subject
  atlas.json                      the plan: subjects, options, versions, digests
  start/, pass_N/                 the files of each pass, with a manifest of each step
  record.json                     devices and times

Exit code: 3 if a subject could not be read and was left out; the template is then of the others.

Examples:
  antsreg-gpu template -o study/atlas subjects/*_t1.nii.gz
  antsreg-gpu template -o study/atlas subjects.csv --channels t1,t2 --weights 1,0.5 --device cuda:all
  antsreg-gpu template -o study/atlas bids/ --plan-only
  antsreg-gpu template -o study/atlas bids/ --list-subjects
  antsreg-gpu template register-one study/atlas --pass 1 --subject sub-01";
