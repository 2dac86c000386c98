//! `atlas`: an unbiased template of many subjects, on one machine or one step at a time by any engine.
//!
//! A plan says what will be done (`plan`), every file has its place, and every step leaves a manifest of what it read and
//! wrote (both in `antsreg_study::template`), so that a run can go on where another was stopped. The steps are functions from
//! files to files (`register_one`, `average`, `update`, `finish`); `build` calls them all on one machine, `steps` one each.

mod args;
mod average;
mod build;
mod carry;
mod chart;
mod content;
mod error;
mod finish;
mod forward;
mod gather;
mod labels;
mod onto;
mod page;
mod parameters;
mod pass;
mod plan;
mod register_one;
mod report;
mod session;
mod slices;
mod start;
mod steps;
mod template;
mod update;

pub use args::Args;
pub use error::Error;

use crate::error::CliError;
use crate::progress::Console;

/// Runs `atlas`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match &args.step {
        Some(step) => steps::run(step, console),
        None => build::run(args, console),
    }
}
