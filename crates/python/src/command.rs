//! Runs the command `antsreg-gpu` for the Python package, which installs this command.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs a command line of `antsreg-gpu` and returns its exit code. The first word is the path of the program. The
/// function installs signal handlers and may end the process, so only a process that does nothing else may call it.
#[pyfunction]
pub fn command(py: Python, words: Vec<OsString>) -> u8 {
    let program = words.first().map(PathBuf::from);
    py.detach(|| antsreg_cli::run(program, words))
}
