//! The subcommand (verb) `compare`: measures how much two images on one grid differ.

use std::path::PathBuf;

use antsreg_console::{CliError, Console};
use antsreg_core::compare::Comparison;

use antsreg_study::inputs;

/// Compare two images on one grid.
///
/// Prints the root mean square difference, the mean and the largest absolute difference, and Pearson's correlation.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// First image
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Second image, on the grid of A
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Mask on the grid of A: only voxels above 0.5 are compared
    #[arg(long, value_name = "IMAGE")]
    mask: Option<PathBuf>,
}

/// Runs `compare`.
pub fn run(args: &Args, _: &mut Console) -> Result<(), CliError> {
    let first = inputs::any_image(&args.first)?;
    let mut second = inputs::any_image(&args.second)?;
    inputs::check_grid(&args.second, &second.grid, &args.first, &first.grid, "linear")?;
    second.grid = first.grid.clone();
    let mask = args.mask.as_deref().map(|mask| inputs::mask(mask, &args.first, &first.grid)).transpose()?;
    let found = Comparison::between(&first, &second, mask.as_ref())?;
    antsreg_console::output::print(&format!(
        "Voxels                    {}\n\
         Root mean square          {}\n\
         Mean absolute difference  {}\n\
         Largest difference        {}\n\
         Correlation               {:.6}\n",
        found.voxels, found.root_mean_square, found.mean_absolute, found.largest_absolute, found.correlation
    ))
}
