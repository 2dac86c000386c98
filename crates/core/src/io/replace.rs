//! Files appear under their final name only when they are whole.

use std::io::Write;
use std::path::Path;

use super::{Error, ErrorKind};

/// Writes `path` through a temporary file in the same folder, renamed once everything is on it; after a failure nothing
/// is left behind.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut std::fs::File) -> std::io::Result<()>,
) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let wrap = |error: std::io::Error| Error::new(path, error);
    let mut file = builder.tempfile_in(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(path, ErrorKind::MissingFolder),
        _ => wrap(error),
    })?;
    write(file.as_file_mut()).and_then(|()| file.flush()).map_err(wrap)?;
    file.persist(path).map_err(|error| wrap(error.error))?;
    Ok(())
}
