//! `bench`: measurements on this machine, one file or folder each.

mod cost_curves;
mod histograms;

use antsreg_kernels::Cuda;

use crate::device::{Device, DeviceChoice};
use crate::error::{CliError, UsageError};
use crate::progress::Console;

/// Measure the program's methods on this machine, as tables and plots.
#[derive(Debug, Clone, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    CostCurves(cost_curves::Args),
    Histograms(histograms::Args),
}

/// Runs `bench`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match &args.what {
        What::CostCurves(args) => cost_curves::run(args, console),
        What::Histograms(args) => histograms::run(args, console),
    }
}

/// The GPU that a measurement is about. `auto` does not fall back: a processor cannot stand in for what is measured.
fn gpu(choice: DeviceChoice, verb: &'static str, console: &mut Console) -> Result<Box<Cuda>, CliError> {
    let choice = if choice == DeviceChoice::Auto { DeviceChoice::Cuda(0) } else { choice };
    let opened = choice.open_alone()?;
    if let Some(note) = opened.note() {
        console.note(note);
    }
    match opened.device {
        Device::Cuda(cuda) => Ok(cuda),
        Device::Cpu => Err(UsageError::NeedsGpu { verb, device: choice }.into()),
    }
}
