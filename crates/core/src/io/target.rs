//! The path of a file to be written, with an optional listener: a function that receives the bytes of the file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::outputs::Reserved;
use crate::failpoint::{self, Operation};

/// A function that receives the bytes of a file in order, after they were written. It returns a buffer for the next
/// bytes.
pub type Listener<'a> = &'a mut (dyn FnMut(Vec<u8>) -> Vec<u8> + Send);

/// A file to be written: its path, with an optional listener, and the space that is reserved for it.
pub struct Target<'a> {
    pub(super) path: &'a Path,
    pub(super) listener: Option<Listener<'a>>,
    pub(super) reserved: Option<Reserved>,
}

impl<'a> From<&'a Path> for Target<'a> {
    fn from(path: &'a Path) -> Target<'a> {
        Target { path, listener: None, reserved: None }
    }
}

impl<'a> From<&'a PathBuf> for Target<'a> {
    fn from(path: &'a PathBuf) -> Target<'a> {
        Target { path, listener: None, reserved: None }
    }
}

impl<'a> Target<'a> {
    /// Describes a file to be written at `path`, whose bytes are also passed to a function (the listener).
    pub fn heard(path: &'a Path, listener: Listener<'a>) -> Target<'a> {
        Target { path, listener: Some(listener), reserved: None }
    }

    /// Describes a file to be written at `path`, for which space may be reserved already.
    pub(super) fn with_space(path: &'a Path, reserved: Option<Reserved>) -> Target<'a> {
        Target { path, listener: None, reserved }
    }
}

/// An open output file, and the listener that receives all bytes written to the file.
pub(super) struct Heard<'f, 'a> {
    pub(super) file: &'f mut File,
    pub(super) listener: Option<Listener<'a>>,
}

impl Heard<'_, '_> {
    /// Writes a buffer to the file, then passes the buffer to the listener (the function that receives all written
    /// bytes), if there is one. Returns a buffer for the next bytes, whose old contents the caller overwrites.
    pub(super) fn pass(&mut self, bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
        failpoint::check(Operation::Write)?;
        self.file.write_all(&bytes)?;
        Ok(match &mut self.listener {
            Some(listener) => listener(bytes),
            None => bytes,
        })
    }
}

impl Write for Heard<'_, '_> {
    /// Writes all bytes to the file, then passes them to the listener (the function that receives all written bytes).
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        failpoint::check(Operation::Write)?;
        self.file.write_all(bytes)?;
        if let Some(listener) = &mut self.listener {
            listener(bytes.to_vec());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
