//! antsreg-gpu: brain image registration, affine and diffeomorphic.
//!
//! Arguments as typed (`args`) become a checked plan, the plan runs, and its files appear together (`antsreg_core::io::outputs`).

mod apply;
mod args;
mod atlas;
mod batch;
mod command_line;
mod common;
mod compare;
mod completions;
mod convert;
mod device_notes;
mod error;
mod foreign;
mod info;
mod interruption;
mod jacobian;
mod labels;
mod opening;
mod options;
mod output;
mod overlap;
mod pair;
mod progress;
mod register;
mod table;
mod values;

use std::process::ExitCode;

use clap::Parser;

use crate::error::CliError;

/// Lets the driver see the first GPUs only: it takes 0.1 s longer to start for each that it sees.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "no safe function sets a variable of the environment")]
fn show_first(gpus: usize) {
    use antsreg_kernels::cuda::{VISIBLE_DEVICES, first_visible};

    let now = std::env::var(VISIBLE_DEVICES).ok();
    if let Some(first) = first_visible(now.as_deref(), gpus) {
        // SAFETY: `main` calls this before it starts a thread, so nothing reads the environment meanwhile.
        unsafe { std::env::set_var(VISIBLE_DEVICES, first) };
    }
}

/// There is no driver in this build.
#[cfg(not(feature = "cuda"))]
fn show_first(_: usize) {}

fn main() -> ExitCode {
    match foreign::invoked() {
        Some(invocation) => start(invocation.first_gpus(), || invocation.run()),
        None => {
            let cli = args::Cli::parse();
            start(cli.first_gpus(), || args::run(cli))
        }
    }
}

/// Runs a command that can use so many of the first GPUs; all where that is not known.
fn start(first_gpus: Option<usize>, run: impl FnOnce() -> Result<(), CliError>) -> ExitCode {
    if let Some(gpus) = first_gpus {
        show_first(gpus);
    }
    interruption::clean_up_on_signals();
    let result = run();
    interruption::clean_up();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(format_args!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
