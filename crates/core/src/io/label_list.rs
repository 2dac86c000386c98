//! Files with lists of labels: integers separated by spaces, commas or line ends, as used with FreeSurfer and ANTs.

use std::path::Path;

use super::{Error, ErrorKind, read_text};

/// Largest size of a list, bytes: enough for a hundred thousand labels.
const LARGEST: u64 = 1 << 20;

/// Reads a list of labels from a file.
///
/// # Errors
/// The file is not a regular file, is larger than 1 MiB or is not text; a word is not an integer within 32 bits; the
/// file contains no label.
pub fn read(path: &Path) -> Result<Vec<i32>, Error> {
    parse(&read_text(path, "a list of labels", LARGEST)?).map_err(|kind| Error::new(path, kind))
}

/// Parses a list of labels.
///
/// # Errors
/// A word is not an integer within 32 bits, or the text contains no label.
pub fn parse(text: &str) -> Result<Vec<i32>, ErrorKind> {
    let mut labels = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
            let expected = "whole numbers separated by spaces, commas or line ends";
            let syntax = |_| ErrorKind::Syntax { line: index + 1, expected, found: word.into() };
            labels.push(word.parse().map_err(syntax)?);
        }
    }
    if labels.is_empty() { Err(ErrorKind::NoLabels) } else { Ok(labels) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.txt");
        std::fs::write(&path, "3, 5\n-1\n").unwrap();
        assert_eq!(read(&path).unwrap(), [3, 5, -1]);
        std::fs::write(&path, "3\nfive\n").unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.path == path && matches!(error.kind, ErrorKind::Syntax { line: 2, .. }), "{error}");
    }

    #[test]
    fn numbers_stand_between_spaces_commas_and_line_ends() {
        assert_eq!(parse("1, 2\t-3\r\n\n 4,,5\n").unwrap(), [1, 2, -3, 4, 5]);
        assert!(matches!(parse(" ,\n"), Err(ErrorKind::NoLabels)));
        for (text, wrong, at) in [("1 2\n1.5", "1.5", 2), ("4294967296", "4294967296", 1), ("one", "one", 1)] {
            let ErrorKind::Syntax { line, found, .. } = parse(text).unwrap_err() else { panic!("{text}") };
            assert_eq!((line, found.as_str()), (at, wrong));
        }
    }
}
