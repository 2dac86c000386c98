//! The command line of this process, which output files and reports quote, and the path of its program, for starting it
//! again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The path of the program, and all words of its command line, beginning with the program's name.
static COMMAND: OnceLock<(Option<PathBuf>, Vec<String>)> = OnceLock::new();

/// Stores the program's path and the words of the command line, the program's name first.
pub fn remember(program: Option<PathBuf>, words: &[OsString]) {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // A process runs one command, so only the first command line is kept.
    let _ = COMMAND.set((program, words));
}

/// The words of the command line of this process, beginning with the program's name.
pub fn command_line() -> Vec<String> {
    COMMAND.get().map(|(_, words)| words.clone()).unwrap_or_default()
}

/// The path by which this program was started; `None` if unknown.
pub fn program() -> Option<&'static Path> {
    COMMAND.get()?.0.as_deref()
}
