//! The output files about all subjects of a study. They replace only files that this program has written.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::summary::FIRST_COLUMNS;
use crate::Error;

/// Whether a file with these bytes was written by this program. Only the first bytes of the file are given.
pub type IsOwn = fn(&[u8]) -> bool;

/// Number of bytes from which the writer of a file is recognised.
const MOST_BYTES: u64 = 64 << 10;

/// The output files that describe all subjects of a study together.
#[derive(Debug, Clone, Default)]
pub struct OfAll {
    /// Path of the summary table; `None` for no table.
    pub summary: Option<PathBuf>,
    /// Path of the HTML page, in the folder that contains all outputs; `None` for no page. A page needs a table.
    pub page: Option<PathBuf>,
    /// Further files with their texts, such as the description of a dataset.
    pub texts: Vec<TextFile>,
}

/// A text file about all subjects of a study.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// Path of the file.
    pub path: PathBuf,
    /// The content of the file.
    pub text: String,
    /// Whether an existing file of this name was written by this program, so that it may be replaced.
    pub is_own: IsOwn,
}

impl OfAll {
    /// Paths of the files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let own = [&self.summary, &self.page].into_iter().flatten();
        own.chain(self.texts.iter().map(|text| &text.path)).map(PathBuf::as_path)
    }

    /// Checks that the files replace only files that this program has written.
    ///
    /// # Errors
    /// [`Error::NotOwn`] for the first file of another origin; an existing file that cannot be read.
    pub(super) fn check(&self) -> Result<(), Error> {
        let tables = self.summary.iter().map(|path| (path, is_summary as IsOwn));
        let pages = self.page.iter().map(|path| (path, is_page as IsOwn));
        let texts = self.texts.iter().map(|text| (&text.path, text.is_own));
        tables.chain(pages).chain(texts).try_for_each(|(path, is_own)| check_file(path, is_own))
    }
}

fn check_file(path: &Path, is_own: IsOwn) -> Result<(), Error> {
    // Outputs that are folders or devices, or not readable as a file, are refused with a message of their own later.
    if !path.is_file() {
        return Ok(());
    }
    let wrap = |source| Error::Read { path: path.into(), source };
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)).map_err(wrap)?;
    if is_own(&bytes) { Ok(()) } else { Err(Error::NotOwn { path: path.into() }) }
}

/// Whether a table has the first columns of a summary.
fn is_summary(bytes: &[u8]) -> bool {
    bytes.starts_with(FIRST_COLUMNS.join(",").as_bytes())
}

/// Whether an HTML page names this program as its generator.
fn is_page(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains(r#"<meta name="generator" content="antsreg-gpu "#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_this_program_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(at(name), text).expect("a file");
        let text = |is_own| TextFile { path: at("text"), text: String::new(), is_own };
        let of_all = |is_own| OfAll {
            summary: Some(at("summary.csv")),
            page: Some(at("report.html")),
            texts: vec![text(is_own)],
        };
        let refused = |is_own: IsOwn| match of_all(is_own).check() {
            Err(Error::NotOwn { path }) => Some(path),
            Err(error) => panic!("{error}"),
            Ok(()) => None,
        };
        assert_eq!(refused(|_| true), None, "no files");
        write("summary.csv", "subject,age\na,3\n");
        assert_eq!(refused(|_| true), Some(at("summary.csv")));
        super::super::summary::write_summary(&at("summary.csv"), &[]).expect("a table");
        assert_eq!(refused(|_| true), None);
        write("report.html", "<title>mine</title>");
        assert_eq!(refused(|_| true), Some(at("report.html")));
        let html = super::super::page::page(folder.path(), Path::new("f"), &at("summary.csv"), &[], &[]);
        write("report.html", &html.expect("a page"));
        write("text", "x");
        assert_eq!([refused(|bytes| bytes == b"x"), refused(|bytes| bytes == b"y")], [None, Some(at("text"))]);
    }
}
