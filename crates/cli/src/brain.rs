//! The subcommand (verb) `brain`: extracts the brain from an image of a head.

use std::path::PathBuf;
use std::str::FromStr;

use antsreg_console::{CliError, Console, ending};
use antsreg_heads::brain::Contrast;
use antsreg_pool::{Devices, GpuUse};
use antsreg_register::DeviceChoice;
use antsreg_study::brain::{self, BrainFiles, BrainRequest, Heads};
use antsreg_study::words;
use clap::ValueEnum;

use crate::options::ReportArgs;
use crate::shown::shown;
use crate::values::ValueError;

/// Extract the brain from an image of a head.
///
/// The head is registered to a template whose brain is known, and the border of that brain is moved to where the
/// intensities change. The built-in template (MNI ICBM 152 2009c, nonlinear, asymmetric) suits T1, T2, PD and FLAIR
/// of adults in any orientation.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image of a head
    #[arg(short, long, value_name = "IMAGE")]
    input: PathBuf,
    /// Image of the brain to write: the input inside the brain, 0 outside
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the mask of the brain: 1 in the brain, else 0
    #[arg(long, value_name = "FILE")]
    mask: Option<PathBuf>,
    /// Also write the probability of each voxel to be brain, 0 to 1
    #[arg(long, value_name = "FILE")]
    probability: Option<PathBuf>,
    /// Contrast of the built-in template
    #[arg(long, value_enum, default_value = "auto", value_name = "CONTRAST", conflicts_with = "template")]
    contrast: ContrastName,
    /// Another template: an image of a head, and a mask of its brain on the same grid
    #[arg(long, value_name = "HEAD=MASK")]
    template: Option<TemplateFiles>,
    #[command(flatten)]
    report: ReportArgs,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

/// Value of the option `--contrast`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContrastName {
    /// The contrast whose template is most similar to the image after an affine registration
    Auto,
    /// T1-weighted
    T1,
    /// T2-weighted
    T2,
    /// Proton density
    Pd,
    /// FLAIR: uses the template of proton density, which is most similar
    Flair,
}

impl ContrastName {
    /// The contrast of the built-in template; `None` for the most similar one.
    pub fn contrast(self) -> Option<Contrast> {
        match self {
            ContrastName::Auto => None,
            ContrastName::T1 => Some(Contrast::T1),
            ContrastName::T2 => Some(Contrast::T2),
            ContrastName::Pd | ContrastName::Flair => Some(Contrast::Pd),
        }
    }
}

/// Value of the option `--template`: the paths of head and brain mask.
#[derive(Debug, Clone)]
struct TemplateFiles([PathBuf; 2]);

impl FromStr for TemplateFiles {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<TemplateFiles, ValueError> {
        match text.split_once('=') {
            Some((head, mask)) if !head.is_empty() && !mask.is_empty() => {
                Ok(TemplateFiles([head.into(), mask.into()]))
            }
            _ => Err(ValueError::new("HEAD=MASK, such as head.nii.gz=brain_mask.nii.gz", text)),
        }
    }
}

impl Args {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Devices::One(self.device).gpu_use(true)
    }
}

/// Runs `brain`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let page = args.report.path(|| args.output.with_file_name(format!("{}_report.html", words::stem(&args.output))));
    let found = shown(console, |invocation, observer| {
        let request = BrainRequest {
            input: &args.input,
            files: BrainFiles {
                image: Some(&args.output),
                mask: args.mask.as_deref(),
                probability: args.probability.as_deref(),
            },
            page: page.as_deref(),
            template: match &args.template {
                Some(TemplateFiles(files)) => Heads::Files(files.each_ref().map(PathBuf::as_path)),
                None => Heads::BuiltIn(args.contrast.contrast()),
            },
            device: args.device,
            command_line: invocation.command_line,
        };
        brain::run(&request, observer)
    })?;
    let brain = &found.brain;
    antsreg_console::output::print(&format!(
        "Volume                {:.0} cm³\n\
         Template              {}, correlation {:.4} near the brain\n\
         Agreement             {:.4} (Dice) of the brain before and after its border was moved\n\
         Verdict               {}\n",
        brain.volume_cm3,
        brain.contrast,
        brain.correlation,
        brain.agreement,
        brain.verdict().judgement
    ))?;
    let verdict = brain.verdict();
    ending::leave(found);
    console.judge("the brain mask", Some(&verdict))
}
