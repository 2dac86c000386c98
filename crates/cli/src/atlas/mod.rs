//! `atlas`: an unbiased template of many subjects, on one machine or one step at a time.

mod args;
mod run;
mod show;
mod steps;

pub use args::Args;

use crate::error::CliError;
use crate::progress::Console;

/// Runs `atlas`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match &args.step {
        Some(step) => steps::run(step, console),
        None => run::run(args, console),
    }
}
