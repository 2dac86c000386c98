//! antsreg-gpu: brain image registration, affine and diffeomorphic.
//!
//! Arguments as typed (`args`) become a checked plan, the plan runs, and its files appear together (`staging`).

mod apply;
mod args;
mod atlas;
mod batch;
mod cohort;
mod compare;
mod completions;
mod convert;
mod device;
mod devices;
mod error;
mod geometry;
mod info;
mod inputs;
mod interpolation;
mod jacobian;
mod labels;
mod on_device;
mod output;
mod overlap;
mod presets;
mod progress;
mod register;
mod staging;
mod table;
mod transforms;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    staging::clean_up_on_signals();
    match args::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(format_args!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
