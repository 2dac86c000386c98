//! The command line of this process, for records, and the path of its program, for starting it again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The program and every word of the command.
static COMMAND: OnceLock<(Option<PathBuf>, Vec<String>)> = OnceLock::new();

/// Keeps the program and the words of the command, the program's name first.
pub fn remember(program: Option<PathBuf>, words: &[OsString]) {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // The first command stays: a process runs one.
    let _ = COMMAND.set((program, words));
}

/// Every word of the command.
pub fn command_line() -> Vec<String> {
    COMMAND.get().map(|(_, words)| words.clone()).unwrap_or_default()
}

/// The file by which this program is called, if it is known.
pub fn program() -> Option<&'static Path> {
    COMMAND.get()?.0.as_deref()
}
