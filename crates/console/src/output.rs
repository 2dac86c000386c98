//! Results on standard output, messages on standard error.

use std::fmt::Display;
use std::io::Write;

use crate::error::CliError;

/// Prints text as it is. A reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CliError::Stdout(error)),
        _ => Ok(()),
    }
}

/// Prints a line for people. Where nobody takes it, the work goes on.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
