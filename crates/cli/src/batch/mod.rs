//! The subcommand (verb) `batch`: registers many subjects to one fixed image.

mod args;

use antsreg_console::{CliError, Console};
use antsreg_register::Device;
use antsreg_study::batch::{self, Alone};
use antsreg_study::pair::{FixedInputs, PairFiles};

use crate::many::{self, OfAll, Order};

pub use args::Args;

/// Runs `batch`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let study = args.study()?;
    let order = Order {
        devices: &args.registration.device,
        workers: args.workers,
        resume: args.resume,
        dry_run: args.dry_run,
        folders: vec![args.output.clone()],
        sources: &args.subjects,
        of_all: OfAll {
            summary: Some(batch::summary_name(&args.output)),
            page: args.report().then(|| batch::page_name(&args.output)),
            dataset: None,
        },
    };
    many::run(&study, &order, &Alone, || fixed(&study.shared), console)
}

/// Reads the images, masks and labels of the fixed side. The shading of the images is removed on the CPU, because the
/// devices are still being opened.
fn fixed(files: &PairFiles) -> Result<FixedInputs, antsreg_study::Error> {
    let mut fixed = FixedInputs::read(files)?;
    fixed.remove_shading(files, &Device::cpu())?;
    Ok(fixed)
}
