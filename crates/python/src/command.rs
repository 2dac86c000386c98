//! The command `antsreg-gpu`, which the package installs.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command of these words, the file of the program first, and returns its exit code. For a process that does nothing
/// else: the command handles signals, and may end the process.
#[pyfunction]
pub fn command(py: Python, words: Vec<OsString>) -> u8 {
    let program = words.first().map(PathBuf::from);
    py.detach(|| antsreg_cli::run(program, words))
}
