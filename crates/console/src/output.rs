//! Printing of results on standard output, and of messages on standard error.

use std::fmt::Display;
use std::io::Write;

use crate::error::CliError;

/// Prints text. A reader that closes the pipe early (`| head`) is no error.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CliError::Stdout(error)),
        _ => Ok(()),
    }
}

/// Prints a message of one or more lines on standard error. A closed standard error is ignored.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(&line.to_string()));
}

/// Replaces control characters of a text by escape sequences, so that file names cannot control the terminal.
fn harmless(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\t' => character.to_string(),
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_controls_the_terminal() {
        assert_eq!(harmless("no\u{1b}[31m\r\u{7}é.nii:\tno\nfile"), "no\\u{1b}[31m\\r\\u{7}é.nii:\tno\nfile");
    }
}
