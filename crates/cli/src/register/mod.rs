//! `register`: from two images to transforms, warped images and a record.

mod args;

pub use args::Args;

use crate::error::CliError;
use crate::pair;
use crate::progress::Console;

/// Runs `register`.
pub fn run(args: Args, console: &mut Console) -> Result<(), CliError> {
    pair::run(&args.job()?, console).map(drop)
}
