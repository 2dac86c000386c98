//! The command `antsreg-gpu`, which the package installs.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs a command line and returns its exit code. The first word is the path of the program. The function handles
/// signals and may end the process, so only a process that does nothing else may call it.
#[pyfunction]
pub fn command(py: Python, words: Vec<OsString>) -> u8 {
    let program = words.first().map(PathBuf::from);
    py.detach(|| antsreg_cli::run(program, words))
}
