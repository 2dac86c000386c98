//! Output of the measurements: tables on standard output, messages on standard error, and files that appear only when
//! all of them are complete.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// Prints a message on standard error.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints text on standard output. It is no error if the reader closes the pipe early (`| head`).
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Stdout(error)),
        _ => Ok(()),
    }
}

/// Formats a table as columns. All rows have equal length, and the first row is the header. The first column is aligned
/// left, the others right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The folder that contains a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Checks that the folder of an output file exists, before anything is measured.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let folder = folder_of(path);
    if folder.is_dir() { Ok(()) } else { Err(Error::NoOutputFolder { folder: folder.into() }) }
}

/// A set of text files that get their final names together, after all are complete.
#[derive(Debug, Default)]
pub struct Files(Vec<(PathBuf, String)>);

impl Files {
    /// Adds a file.
    pub fn add(&mut self, path: PathBuf, text: String) {
        self.0.push((path, text));
    }

    /// Writes all files under temporary names, then renames them. If writing a file fails, none of them appears.
    pub fn write(self) -> Result<(), Error> {
        let written = self.0.iter().map(|(path, text)| {
            let wrap = |source| Error::Write { path: path.clone(), source };
            let mut file = temporary(folder_of(path)).map_err(wrap)?;
            file.write_all(text.as_bytes()).map_err(wrap)?;
            Ok((file, path))
        });
        for (file, path) in written.collect::<Result<Vec<_>, Error>>()? {
            file.persist(path).map_err(|error| Error::Write { path: path.clone(), source: error.error })?;
            note(format_args!("wrote {}", path.display()));
        }
        Ok(())
    }
}

fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".part");
    // Output files are written as temporary files and then renamed. By default, only their owner may read temporary
    // files, so they get the usual permissions of new files here.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["Label", "Dice"], ["1", "0.5"], ["1000", "0.25"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&rows), "Label  Dice\n1       0.5\n1000   0.25\n");
    }

    #[test]
    fn no_file_appears_where_one_cannot_be_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = || std::fs::read_dir(folder.path()).expect("the folder").count();
        let mut files = Files::default();
        files.add(folder.path().join("a.csv"), "a".into());
        files.add(folder.path().join("missing/b.csv"), "b".into());
        assert!(matches!(files.write(), Err(Error::Write { path, .. }) if path.ends_with("missing/b.csv")));
        assert_eq!(names(), 0);
        let mut files = Files::default();
        files.add(folder.path().join("a.csv"), "a".into());
        files.write().expect("it is written");
        assert_eq!(std::fs::read_to_string(folder.path().join("a.csv")).expect("the file"), "a");
        assert_eq!(names(), 1);
    }
}
