//! The program `antsreg-gpu`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(antsreg_cli::run(std::env::current_exe().ok(), std::env::args_os().collect()))
}
