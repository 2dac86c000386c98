//! The file that is written, and errors of either file.

use std::io::{BufWriter, Write};

use super::super::ErrorKind;
use super::super::target::Heard;

/// An error of the file that is read, or of the file that is written.
pub(super) enum Fault {
    Input(ErrorKind),
    Output(std::io::Error),
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Fault {
        Fault::Input(kind)
    }
}

/// The file that is written.
pub(super) struct Sink<'f, 'h, 'a>(BufWriter<&'f mut Heard<'h, 'a>>);

impl<'f, 'h, 'a> Sink<'f, 'h, 'a> {
    pub fn new(file: &'f mut Heard<'h, 'a>) -> Self {
        Sink(BufWriter::with_capacity(1 << 18, file))
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.0.write_all(bytes).map_err(Fault::Output)
    }

    /// Writes what is still in memory.
    pub fn end(&mut self) -> Result<(), Fault> {
        self.0.flush().map_err(Fault::Output)
    }
}

/// The error of a part of a file that is not as expected.
pub(super) fn wrong(what: &'static str, expected: impl Into<String>, found: impl ToString) -> ErrorKind {
    const SHOWN: usize = 60;
    let found: String = found.to_string().chars().take(SHOWN).collect();
    ErrorKind::Part { what, expected: expected.into(), found: found.escape_debug().to_string() }
}
