//! `brain`: the brain of a head.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use antsreg_console::{CliError, Console, opening};
use antsreg_core::io::outputs;
use antsreg_register::DeviceChoice;
use antsreg_study::brain::{self, BrainFiles};
use antsreg_study::{inputs, transforms};

use crate::device_notes;
use crate::values::ValueError;

/// Find the brain of a head.
///
/// The head is registered to a template whose brain is known; then intensities at the edge decide. The template that is
/// built in (MNI ICBM 152 2009c) suits T1, T2, PD and FLAIR of adults.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image of a head (.nii.gz, .nii)
    #[arg(short, long, value_name = "IMAGE")]
    input: PathBuf,
    /// Its brain to write: the image, 0 elsewhere (.nii.gz, .nii)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the mask
    #[arg(long, value_name = "FILE")]
    mask: Option<PathBuf>,
    /// Also write the probability of brain, 0 to 1
    #[arg(long, value_name = "FILE")]
    probability: Option<PathBuf>,
    /// Another head, and the mask of its brain on its grid
    #[arg(long, value_name = "HEAD=MASK")]
    template: Option<TemplateFiles>,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
}

/// `--template` as typed.
#[derive(Debug, Clone)]
struct TemplateFiles([PathBuf; 2]);

impl FromStr for TemplateFiles {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<TemplateFiles, ValueError> {
        let expected = "HEAD=MASK, such as head.nii.gz=brain_mask.nii.gz";
        match text.split_once('=') {
            Some((head, mask)) if !head.is_empty() && !mask.is_empty() => {
                Ok(TemplateFiles([head.into(), mask.into()]))
            }
            _ => Err(ValueError::Malformed { expected, found: text.into() }),
        }
    }
}

impl Args {
    /// How many of the first GPUs can be used, where that is known before the driver starts.
    pub fn first_gpus(&self) -> Option<usize> {
        antsreg_pool::Devices::One(self.device).first_gpus(true)
    }
}

/// Runs `brain`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let template_files = args.template.as_ref().map(|TemplateFiles([head, mask])| [head.as_path(), mask.as_path()]);
    let read = [Some(args.input.as_path()), template_files.map(|files| files[0]), template_files.map(|files| files[1])];
    for output in [Some(&args.output), args.mask.as_ref(), args.probability.as_ref()].into_iter().flatten() {
        if !transforms::is_nifti(output) {
            return Err(CliError::OutputExtension { path: output.clone(), expected: ".nii.gz or .nii" });
        }
        outputs::check_writable(output)?;
        outputs::check_not_input(output, read.into_iter().flatten())?;
    }
    let (read, opened) = opening::while_reading(args.device, || {
        Ok::<_, CliError>((Arc::new(inputs::image(&args.input)?), brain::template(template_files)?))
    });
    let (image, template) = read?;
    let opened = opened?;
    device_notes::opened(&opened, console);
    let device = opened.device;
    let found = console.watch(|watcher| brain::find(&args.input, &image, &template, &device, watcher))?;
    found.doubts.iter().for_each(|doubt| console.warn(format_args!("{}: {doubt}", args.input.display())));
    let files = BrainFiles {
        image: Some(&args.output),
        mask: args.mask.as_deref(),
        probability: args.probability.as_deref(),
    };
    files.write(&image, &found)?;
    console.note(format_args!("wrote {}", args.output.display()));
    antsreg_console::output::print(&format!(
        "Volume                {:.0} cm³\n\
         Correlation           {:.4} with the template\n\
         Agreement             {:.4} (Dice) of the registration and the intensities\n",
        found.volume_cm3, found.correlation, found.agreement
    ))
}
