//! Where a file goes, and who listens while it is written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Hears the bytes of a file in their order.
pub type Listener<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// A file to be written: its path alone, or that and a listener.
pub struct Target<'a> {
    pub(super) path: &'a Path,
    pub(super) listener: Option<Listener<'a>>,
}

impl<'a> From<&'a Path> for Target<'a> {
    fn from(path: &'a Path) -> Target<'a> {
        Target { path, listener: None }
    }
}

impl<'a> From<&'a PathBuf> for Target<'a> {
    fn from(path: &'a PathBuf) -> Target<'a> {
        Target { path, listener: None }
    }
}

impl<'a> Target<'a> {
    /// At this path, with a listener.
    pub fn heard(path: &'a Path, listener: Listener<'a>) -> Target<'a> {
        Target { path, listener: Some(listener) }
    }
}

/// The file, and the listener beside it.
pub(super) struct Heard<'f, 'a> {
    pub(super) file: &'f mut File,
    pub(super) listener: Option<Listener<'a>>,
}

impl Write for Heard<'_, '_> {
    /// Writes all of it, then has it heard.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write_all(bytes)?;
        self.listener.iter_mut().for_each(|listener| listener(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
