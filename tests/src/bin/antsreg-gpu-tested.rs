//! The program `antsreg-gpu` under another name, so that Cargo builds it together with the tests that run it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(antsreg_cli::run(std::env::current_exe().ok(), std::env::args_os().collect()))
}
