//! Checks a command line without reading a file. Exits with 0 if the arguments are a valid command line of the
//! program; else prints the error and exits with 1: `cargo run -p antsreg-cli --example understands -- antsreg-gpu
//! register -f A -m B -o P`.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if antsreg_cli::understands(words.clone()) {
        return ExitCode::SUCCESS;
    }
    if let Err(error) = antsreg_cli::described().try_get_matches_from(words) {
        eprint!("{error}");
    }
    ExitCode::FAILURE
}
