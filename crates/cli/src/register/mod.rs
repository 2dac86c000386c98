//! The subcommand (verb) `register`: registers two images. Writes transforms, warped images and a record, the JSON file
//! that describes the run.

mod args;

use antsreg_console::{CliError, Console};
pub use args::Args;

use crate::pair;

/// Runs `register`.
pub fn run(args: Args, console: &mut Console) -> Result<(), CliError> {
    let dry_run = args.dry_run;
    pair::run(&args.request()?, dry_run, console).map(drop)
}
