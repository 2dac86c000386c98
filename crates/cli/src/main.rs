//! The program `antsreg-gpu`. All its code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(antsreg_cli::run(std::env::current_exe().ok(), std::env::args_os().collect()))
}
