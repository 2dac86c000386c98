//! The subcommand (verb) `template`: builds an unbiased template of many subjects, on one machine or in single steps.

mod args;
mod run;
mod show;
mod steps;

use antsreg_console::{CliError, Console};
pub use args::Args;

/// Runs `template`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match &args.step {
        Some(step) => steps::run(step, console),
        None => run::run(args, console),
    }
}
