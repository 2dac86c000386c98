//! `bench histograms`: the histogram schemes of the literature on the GPU at hand.

use std::path::PathBuf;

use crate::device::DeviceChoice;
use crate::error::CliError;
use crate::progress::Console;
use crate::staging::{self, Outputs};

/// Time the histogram schemes of the literature on a GPU.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Folder for the tables; it must exist
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The GPU to measure: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: DeviceChoice,
}

/// Runs `bench histograms`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let file = args.output.join("device.csv");
    staging::check_writable(&file)?;
    let cuda = super::gpu(args.device, "bench histograms", console)?;
    let bandwidth = cuda.copy_bandwidth().map_err(CliError::Device)? / 1e9;
    let text = format!("device,copy_gb_per_s\n{},{bandwidth:.0}\n", cuda.info().name);
    let mut outputs = Outputs::new();
    outputs.write(&file, |path| {
        std::fs::write(path, &text).map_err(|source| CliError::Write { path: path.into(), source })
    })?;
    outputs.commit()?;
    crate::output::print(&text)
}
