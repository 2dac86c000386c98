//! A single output file that appears complete or not at all.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::check::{check_target, folder_error};
use super::error::{OutputError, OutputErrorKind};
use super::space::Reserved;
use super::temporary::{Temporary, give_names};
use crate::failpoint::{self, Operation};

/// Writes `bytes` to a file. The file appears under its name when everything has been written; on an error an
/// existing file is kept.
///
/// # Errors
/// `path` cannot be the name of an output (see [`super::check_name`]), or the system cannot write.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    write_with(path, None, |file| file.write_all(contents))
}

/// Writes a file as [`write_file`] does, with the contents written by a function. `reserved` is a file in the same
/// folder whose space is used.
pub fn write_with(
    path: &Path,
    reserved: Option<Reserved>,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<(), OutputError> {
    let folder = check_target(path)?;
    let has_space = reserved.is_some();
    let (mut file, temporary) = match reserved {
        Some(Reserved { file, temporary }) => (file, temporary),
        None => Temporary::file_in(folder).map_err(|source| folder_error(folder, source))?,
    };
    failpoint::check(Operation::Write)
        .and_then(|()| write(&mut file))
        .and_then(|()| file.flush())
        .and_then(|()| if has_space { Reserved::cut(&mut file) } else { Ok(()) })
        .map_err(|source| OutputError::new(path, OutputErrorKind::Write(source)))?;
    drop(file);
    give_names([(temporary.path(), path)])
}
