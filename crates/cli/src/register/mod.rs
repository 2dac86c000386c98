//! The verb `register`: registers two images and writes transforms, warped images and a record.

mod args;

use antsreg_console::{CliError, Console};
pub use args::Args;

use crate::pair;

/// Runs `register`.
pub fn run(args: Args, console: &mut Console) -> Result<(), CliError> {
    pair::run(&args.job()?, console).map(drop)
}
