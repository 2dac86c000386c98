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
mod info;
mod interruption;
mod jacobian;
mod labels;
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
    let cli = args::Cli::parse();
    if let Some(gpus) = cli.first_gpus() {
        show_first(gpus);
    }
    interruption::clean_up_on_signals();
    let result = args::run(cli);
    interruption::clean_up();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(format_args!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
