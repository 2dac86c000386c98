//! Writes files of all formats so that they appear complete or not at all.

use super::outputs::{OutputErrorKind, write_with};
use super::target::{Heard, Target};
use super::{Error, ErrorKind};

/// Writes a file with the contents that a function makes. The file gets its name when everything has been written; on
/// an error an existing file is kept.
pub(super) fn replace<'a>(
    to: impl Into<Target<'a>>,
    write: impl FnOnce(&mut Heard) -> std::io::Result<()>,
) -> Result<(), Error> {
    let Target { path, listener, reserved } = to.into();
    write_with(path, reserved, |file| write(&mut Heard { file, listener })).map_err(|error| match error.kind {
        OutputErrorKind::NoFolder => Error::new(path, ErrorKind::MissingFolder),
        OutputErrorKind::Write(source) => Error::new(path, source),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::outputs::remove_unfinished;
    use super::*;

    #[test]
    fn an_interrupted_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "old").unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let result = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            assert_eq!(names(), 2);
            assert!(remove_unfinished().is_empty());
            assert_eq!(names(), 1);
            Err(std::io::ErrorKind::Interrupted.into())
        });
        assert!(matches!(result.unwrap_err().kind, ErrorKind::System(_)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        let mut heard = Vec::new();
        let mut listen = |bytes: Vec<u8>| {
            heard.extend_from_slice(&bytes);
            bytes
        };
        replace(Target::heard(&path, &mut listen), |file| {
            file.write_all(b"n")?;
            assert_eq!(file.pass(b"e".to_vec())?.len(), 1, "a buffer to go on with");
            file.write_all(b"w")
        })
        .unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(heard, b"new");
        assert_eq!(names(), 1);
    }
}
